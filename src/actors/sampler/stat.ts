import { join } from "node:path";
import type { KernelRoots } from "../../ports/kernel-roots.ts";
import { parseUnsigned } from "./integer.ts";
import { readAndParse } from "./kernel-file.ts";
import { failed, found, type Outcome, quote } from "./outcome.ts";

/** The fields of the aggregate `cpu` line that add up to all time; `guest` and `guest_nice` are inside user and nice. */
export const CPU_FIELDS = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"] as const;
export type CpuField = (typeof CPU_FIELDS)[number];

/**
 * Ticks of USER_HZ (usually 1/100 s) that all CPUs together have spent since boot, by field. Meant as counters, but single
 * fields of real kernels run backwards. Source: proc(5), `/proc/stat`.
 */
export type CpuTimes = Readonly<Record<CpuField, bigint>>;

// Kernels before 2.5.41 had these four; all others may be missing and are then 0.
const FIELDS_MIN = 4;

// The cpu lines come first: this covers about two thousand CPUs. What follows, an `intr` line of any length, is not needed.
const STAT_BYTES_MAX = 256 * 1024;

export const statPath = (roots: KernelRoots): string => join(roots.proc, "stat");

export function readStat(roots: KernelRoots): Outcome<CpuTimes> {
  const file = { path: statPath(roots), bytesMax: STAT_BYTES_MAX, mustExist: true, isHeadEnough: true };
  return readAndParse(file, parseStat);
}

/**
 * The aggregate `cpu` line. An emulated `/proc` may print an all-zero one before the real one, so the first that is not
 * all zero counts; all-zero is the answer only where there is no other.
 */
export function parseStat(text: string): Outcome<CpuTimes> {
  let zero: CpuTimes | null = null;
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    if (text.startsWith("cpu ", start)) {
      const line = text.slice(start, end);
      const times = parseCpuLine(line);
      if (times === null) return failed(`not a cpu line: ${quote(line)}`);
      if (CPU_FIELDS.some((field) => times[field] !== 0n)) return found(times);
      zero ??= times;
    }
    start = end + 1;
  }
  return zero === null ? failed("no aggregate cpu line") : found(zero);
}

function parseCpuLine(line: string): CpuTimes | null {
  const words = line.split(" ").filter((word) => word !== "");
  const times = { user: 0n, nice: 0n, system: 0n, idle: 0n, iowait: 0n, irq: 0n, softirq: 0n, steal: 0n };
  for (const [index, field] of CPU_FIELDS.entries()) {
    const word = words[index + 1];
    if (word === undefined) return index < FIELDS_MIN ? null : times;
    const ticks = parseUnsigned(word);
    if (ticks === null) return null;
    times[field] = ticks;
  }
  return times;
}
