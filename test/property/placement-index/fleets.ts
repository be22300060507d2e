/** Random fleets and what happens to them, as plain data that fast-check can shrink. */
import fc from "fast-check";
import { defaultPlacementConfig, type PlacementConfig, type StaticNode } from "../../../src/actors/placement/config.ts";
import type { Schedule } from "../../../src/messages/placement.ts";

const GIB = 2 ** 30;

/** What a node says of itself, each a choice of few, so that ties and full nodes are common. */
export interface Body {
  readonly cpu: number;
  readonly memory: number;
  readonly allocatedCpu: number;
  readonly allocatedMemory: number;
  readonly paused: number;
  readonly running: number;
  readonly starting: number;
}

export type Fleet = {
  readonly config: PlacementConfig;
  readonly bodies: readonly Body[];
};

const EQUAL: Body = { cpu: 8, memory: 16, allocatedCpu: 0, allocatedMemory: 0, paused: 0, running: 0, starting: 0 };

/** Also fractions that no double holds, so that quotients that are equal on paper may differ, and huge nodes. */
const anyBody: fc.Arbitrary<Body> = fc.record({
  cpu: fc.constantFrom(0, 3, 7, 8, 8, 16, 192),
  memory: fc.constantFrom(0, 7, 16, 16, 32, 2048),
  allocatedCpu: fc.constantFrom(0, 0, 1, 2.4, 5, 7.999, 8, 9),
  allocatedMemory: fc.constantFrom(0, 0, 1, 5, 6.3, 14, 16),
  paused: fc.constantFrom(0, 0, 0, 1, 2),
  running: fc.constantFrom(0, 0, 1, 2),
  starting: fc.constantFrom(0, 0, 1),
});

const full: fc.Arbitrary<Body> = fc.record({
  ...constants(EQUAL),
  allocatedCpu: fc.constantFrom(7, 7, 7.5, 8),
  allocatedMemory: fc.constantFrom(14, 15, 16),
});

function constants(body: Body): { [Key in keyof Body]: fc.Arbitrary<number> } {
  const entries = Object.entries(body).map(([key, value]) => [key, fc.constant(value)]);
  return Object.fromEntries(entries) as { [Key in keyof Body]: fc.Arbitrary<number> };
}

const bodies: fc.Arbitrary<Body[]> = fc.oneof(
  fc.array(fc.constant(EQUAL), { maxLength: 20 }),
  fc.array(anyBody, { maxLength: 20, size: "max" }),
  fc.array(full, { maxLength: 12 }),
  // Across the border at which the slots are doubled.
  fc.array(anyBody, { minLength: 14, maxLength: 36 }),
);

const CONFIGURED: readonly StaticNode[] = [
  ...Array.from({ length: 6 }, (_, at) => ({ nodeId: nodeIdOf(at), endpoint: `http://${at}`, ledger: at === 2 })),
  // Never heard from.
  { nodeId: "z-silent", endpoint: "http://z", ledger: false },
  { nodeId: "a-silent", endpoint: "http://a", ledger: false },
  { nodeId: "b-ledger", endpoint: null, ledger: true },
];

/** Not in the order of arrival, and `n10` before `n2`. */
export function nodeIdOf(at: number): string {
  return `n${(at * 7) % 37}`;
}

const demoting = { ...defaultPlacementConfig.pressure.cpu, action: "demote" as const, enterSamples: 1 };
const excluding = { ...defaultPlacementConfig.pressure.memory, enterSamples: 1, recoverSamples: 1 };
const base: PlacementConfig = {
  ...defaultPlacementConfig,
  startGuardMs: 0,
  pressure: { ...defaultPlacementConfig.pressure, cpu: demoting, memory: excluding },
  demotion: { failures: 2, withinMs: 100_000, forMs: 20_000 },
};
const unlimited = base.nodeResourceLimit;

const config: fc.Arbitrary<PlacementConfig> = fc
  .record({
    strategy: fc.constantFrom("least_loaded", "least_loaded", "round_robin", "random"),
    nodes: fc.constantFrom(null, null, null, CONFIGURED),
    unknownNodes: fc.constantFrom<PlacementConfig["unknownNodes"]>("last", "never"),
    livePerNodeMax: fc.constantFrom(10_000, 10_000, 3),
    overcommit: fc.constantFrom({ cpu: 1, memory: 1 }, { cpu: 1.7, memory: 1.1 }),
    pausedWeight: fc.constantFrom({ cpu: 1, memory: 1 }, { cpu: 0.3, memory: 0 }),
    nodeResourceLimit: fc.constantFrom(
      unlimited,
      unlimited,
      { ...unlimited, maxSandboxCount: 3, maxCpuAllocatedPercent: 60 },
      {
        ...unlimited,
        maxSandboxStartingCount: 2,
        maxMemoryUsedPercent: 40,
        maxAllocatedCpuMillicoresIncludingPaused: 6000,
      },
    ),
  })
  .map((chosen) => ({ ...base, ...chosen }));

export const fleet: fc.Arbitrary<Fleet> = fc.record({ config, bodies });

/** How often each is drawn, relative to the others. */
const WEIGHTS = {
  schedule: 24,
  hintless: 4,
  exclude: 4,
  favour: 3,
  cancel: 4,
  fail: 6,
  confirm: 5,
  report: 8,
  lingering: 1,
  settle: 3,
  daemon: 4,
  ledger: 1,
  pass: 5,
  silence: 1,
  tick: 1,
  stall: 1,
  cordon: 2,
  uncordon: 2,
  clear: 1,
  unregister: 1,
  forget: 1,
  arrive: 2,
  restart: 1,
} as const;

export interface Step {
  readonly kind: keyof typeof WEIGHTS;
  readonly which: number;
  readonly what: number;
}

const number = fc.nat(999);

export const step: fc.Arbitrary<Step> = fc.oneof(
  ...(Object.entries(WEIGHTS) as [Step["kind"], number][]).map(([kind, weight]) => ({
    weight,
    arbitrary: fc.record({ kind: fc.constant(kind), which: number, what: number }),
  })),
);

export type Shape = Pick<Schedule, "hint" | "cpuMillicores" | "memoryBytes">;

/** Cold sandboxes, templates, and those of which one dimension is known; the same ones again and again. */
export const SHAPES = [
  { hint: "new_cold_sandbox", cpuMillicores: 1000, memoryBytes: GIB },
  { hint: "new_cold_sandbox", cpuMillicores: 2000, memoryBytes: GIB },
  { hint: "new_cold_sandbox", cpuMillicores: 100, memoryBytes: 6 * GIB },
  // One millicore more than there is where 7.999 of 8 CPUs are taken.
  { hint: "new_cold_sandbox", cpuMillicores: 2, memoryBytes: 1 },
  { hint: "new_cold_sandbox", cpuMillicores: 3000, memoryBytes: null },
  { hint: "new_cold_sandbox", cpuMillicores: null, memoryBytes: 2 * GIB },
  { hint: "new_sandbox", cpuMillicores: null, memoryBytes: null },
] as const satisfies readonly Shape[];

/** Hardly ever the same twice. */
export function oddShape({ which, what }: Pick<Step, "which" | "what">): Shape {
  const cpuMillicores = 1 + ((which * 9 + what) % 5_000);
  const memoryBytes = 1 + ((what * 2_147_483 + which) % (16 * GIB));
  return { hint: "new_cold_sandbox", cpuMillicores, memoryBytes };
}
