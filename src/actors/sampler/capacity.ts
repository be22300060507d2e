import type { Reading, SamplerInit } from "../../messages/sampling.ts";
import { readCpuQuota } from "./cgroup-cpu.ts";
import { readEffectiveCpus } from "./cgroup-cpuset.ts";
import {
  type Cgroup,
  type CgroupViewReading,
  type Controller,
  discoverCgroups,
  readCgroupView,
} from "./cgroup-discovery.ts";
import { readMemoryLimitBytes } from "./cgroup-memory.ts";
import { onlineCpusPath, readOnlineCpus } from "./cpu-list.ts";
import { meminfoPath, readMeminfo } from "./meminfo.ts";
import { found, type Outcome } from "./outcome.ts";
import type { CapacitySampler, SamplerPorts } from "./sampler.ts";

/** Something that bounds the node's capacity, and the bound that it sets. */
interface Bound {
  readonly from: string;
  readonly outcome: Outcome<bigint>;
}

const MILLICORES_PER_CPU = 1000n;

// Three controllers may each have as many cgroups as a metric; an operator needs no more than this to see what binds.
const READINGS_MAX = 64;

/**
 * Samples what the node has, whatever its load: the CPUs and the memory of the host, or less where the daemon's own cgroup
 * or one above it sets a limit. The sandboxes' cgroup lowers nothing: its limit is what the capacity is handed out under.
 */
export function createCapacitySampler(init: SamplerInit, { clock }: SamplerPorts): CapacitySampler {
  return {
    sample(tick) {
      const startedMs = clock.monotonicMs();
      const view = readCgroupView({ ...init, sandboxCgroup: null });
      const cpu = cpuBounds(init, view);
      const memory = memoryBounds(init, view);
      const millicores = leastBound(cpu);
      return {
        type: "observed",
        source: "capacity",
        tick,
        cpuMillicores: millicores === null ? null : Number(millicores),
        memoryBytes: leastBound(memory),
        failed: [...cpu, ...memory].some(({ outcome }) => outcome.kind === "failed"),
        readings: [...cpu.map(readingIn("millicores")), ...memory.map(readingIn("bytes"))].slice(0, READINGS_MAX),
        durationMs: clock.monotonicMs() - startedMs,
      };
    },
  };
}

function cpuBounds(init: SamplerInit, view: CgroupViewReading): readonly Bound[] {
  const ofCpus = (cpus: number): bigint => BigInt(cpus) * MILLICORES_PER_CPU;
  return [
    { from: onlineCpusPath(init), outcome: map(readOnlineCpus(init), ofCpus) },
    ...ownBounds(view, "cpuset", (cgroup) => map(readEffectiveCpus(cgroup), ofCpus)),
    ...ownBounds(view, "cpu", (cgroup) =>
      map(readCpuQuota(cgroup), ({ quotaUs, periodUs }) => (quotaUs * MILLICORES_PER_CPU) / periodUs),
    ),
  ];
}

function memoryBounds(init: SamplerInit, view: CgroupViewReading): readonly Bound[] {
  return [
    { from: meminfoPath(init), outcome: map(readMeminfo(init), ({ totalBytes }) => totalBytes) },
    ...ownBounds(view, "memory", readMemoryLimitBytes),
  ];
}

/** The bounds that the daemon's own cgroup and those above it set. */
function ownBounds(
  view: CgroupViewReading,
  controller: Controller,
  readBound: (cgroup: Cgroup) => Outcome<bigint>,
): readonly Bound[] {
  const { cgroups, problems } = discoverCgroups(view, controller);
  return [...problems, ...cgroups.map((cgroup) => ({ from: cgroup.directory, outcome: readBound(cgroup) }))];
}

/**
 * The least of all bounds; null where one of them could not be read, since it might have been the least, and a node that
 * promises too much is worse than one that repeats its last word.
 */
export function leastBound(bounds: readonly Bound[]): bigint | null {
  let least: bigint | null = null;
  for (const { outcome } of bounds) {
    if (outcome.kind === "failed") return null;
    if (outcome.kind === "found" && (least === null || outcome.value < least)) least = outcome.value;
  }
  return least;
}

function map<A, B>(outcome: Outcome<A>, change: (value: A) => B): Outcome<B> {
  return outcome.kind === "found" ? found(change(outcome.value)) : outcome;
}

/** A bound is no fraction of anything, so its reading says in words what it is. */
const readingIn =
  (unit: string) =>
  ({ from, outcome }: Bound): Reading => ({
    from,
    ratio: null,
    why: outcome.kind === "found" ? `capacity is at most ${outcome.value} ${unit}` : outcome.why,
  });
