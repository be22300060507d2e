/**
 * Firecracker custom CPU templates (x86), and what several hosts have in common. Bitmaps are held as integers of
 * arbitrary size: those of MSRs have 64 bits, more than a double is exact for.
 */
import { z } from "zod";

export interface CpuTemplate {
  readonly kvmCapabilities: ReadonlySet<string>;
  /** Bitmaps by leaf, subleaf, flags and register. */
  readonly cpuid: ReadonlyMap<string, CpuidBits>;
  /** Bitmaps by address. */
  readonly msrs: ReadonlyMap<number, bigint>;
}

export interface CpuidBits {
  readonly leaf: number;
  readonly subleaf: number;
  readonly flags: number;
  readonly register: string;
  readonly bits: bigint;
}

const CPUID_BITS = 32;
const MSR_BITS = 64;
/** Topology of the very CPU a guest runs on: KVM sets it itself and refuses it. */
const LEAVES_OF_TOPOLOGY: ReadonlySet<number> = new Set([0xb, 0x1f]);

const uint32 = z
  .string()
  .regex(/^(0x[0-9a-fA-F]{1,8}|0b[01]{1,32}|\d{1,10})$/)
  .transform(Number)
  .refine((number) => number < 2 ** 32);
const bitmap = (digitsMax: number) =>
  z
    .string()
    .regex(new RegExp(`^0b[01]{1,${digitsMax}}$`))
    .transform(BigInt);

const templateSchema = z.object({
  kvm_capabilities: z.array(z.string()).default([]),
  cpuid_modifiers: z
    .array(
      z.object({
        leaf: uint32,
        subleaf: uint32,
        flags: z.int().min(0).default(0),
        modifiers: z.array(z.object({ register: z.string(), bitmap: bitmap(CPUID_BITS) })),
      }),
    )
    .default([]),
  msr_modifiers: z.array(z.object({ addr: uint32, bitmap: bitmap(MSR_BITS) })).default([]),
});

/** Null when the text is no template whose every bit is known (`0` or `1`). Other keys are ignored. */
export function parseTemplate(text: string): CpuTemplate | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null;
  }
  const checked = templateSchema.safeParse(parsed);
  if (!checked.success) return null;
  const { kvm_capabilities, cpuid_modifiers, msr_modifiers } = checked.data;
  const cpuid = cpuid_modifiers.flatMap(({ leaf, subleaf, flags, modifiers }) =>
    modifiers.map(({ register, bitmap: bits }): CpuidBits => ({ leaf, subleaf, flags, register, bits })),
  );
  return {
    kvmCapabilities: new Set(kvm_capabilities),
    cpuid: new Map(cpuid.map((entry) => [`${entry.leaf}/${entry.subleaf}/${entry.flags}/${entry.register}`, entry])),
    msrs: new Map(msr_modifiers.map(({ addr, bitmap: bits }) => [addr, bits])),
  };
}

/** What both have: entries of both, with the bits that both have set. */
export function intersect(left: CpuTemplate, right: CpuTemplate): CpuTemplate {
  const cpuid = new Map<string, CpuidBits>();
  for (const [key, entry] of left.cpuid) {
    const other = right.cpuid.get(key);
    if (other !== undefined) cpuid.set(key, { ...entry, bits: entry.bits & other.bits });
  }
  const msrs = new Map<number, bigint>();
  for (const [address, bits] of left.msrs) {
    const other = right.msrs.get(address);
    if (other !== undefined) msrs.set(address, bits & other);
  }
  const kvmCapabilities = [...left.kvmCapabilities].filter((capability) => right.kvmCapabilities.has(capability));
  return { kvmCapabilities: new Set(kvmCapabilities), cpuid, msrs };
}

/** The template as JSON that Firecracker takes, in an order that does not depend on who came first. */
export function formatTemplate(template: CpuTemplate): string {
  const leaves = new Map<string, CpuidBits[]>();
  const cpuid = [...template.cpuid.values()].filter(({ leaf }) => !LEAVES_OF_TOPOLOGY.has(leaf)).sort(byPlace);
  for (const entry of cpuid) {
    const key = `${entry.leaf}/${entry.subleaf}/${entry.flags}`;
    leaves.set(key, [...(leaves.get(key) ?? []), entry]);
  }
  return JSON.stringify({
    kvm_capabilities: [...template.kvmCapabilities].sort(),
    cpuid_modifiers: [...leaves.values()].flatMap((registers) => {
      const [first] = registers;
      if (first === undefined) return [];
      return {
        leaf: hex(first.leaf),
        subleaf: hex(first.subleaf),
        flags: first.flags,
        modifiers: registers.map(({ register, bits }) => ({ register, bitmap: digits(bits, CPUID_BITS) })),
      };
    }),
    msr_modifiers: [...template.msrs]
      .sort(([left], [right]) => left - right)
      .map(([address, bits]) => ({ addr: hex(address), bitmap: digits(bits, MSR_BITS) })),
  });
}

function byPlace(left: CpuidBits, right: CpuidBits): number {
  return (
    left.leaf - right.leaf ||
    left.subleaf - right.subleaf ||
    left.flags - right.flags ||
    (left.register < right.register ? -1 : 1)
  );
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}

function digits(bits: bigint, count: number): string {
  return `0b${bits.toString(2).padStart(count, "0")}`;
}
