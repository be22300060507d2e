import type { Metric, MetricObservation, Reading } from "../../messages/sampling.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Cgroup, Discovery } from "./cgroup-discovery.ts";
import type { Outcome } from "./outcome.ts";
import { usageRatio } from "./ratio.ts";

/** One input of a metric: where it is read, and the ratio that came of it. */
export interface Input {
  readonly from: string;
  readonly outcome: Outcome<number>;
}

/**
 * The observation that `measure` makes: the maximum of all valid ratios, and each input as a reading. Readings are bounded
 * by what is measured: two host files and CGROUPS_MAX cgroups, with three problems of their discovery at most.
 */
export function observeMetric(
  about: { readonly source: Metric; readonly tick: number; readonly clock: Clock },
  measure: () => readonly Input[],
): MetricObservation {
  const startedMs = about.clock.monotonicMs();
  const inputs = measure();
  let ratio: number | null = null;
  for (const { outcome } of inputs) {
    if (outcome.kind === "found") ratio = Math.max(ratio ?? 0, outcome.value);
  }
  return {
    type: "observed",
    source: about.source,
    tick: about.tick,
    ratio,
    failed: inputs.some(({ outcome }) => outcome.kind === "failed"),
    readings: inputs.map(readingOf),
    durationMs: about.clock.monotonicMs() - startedMs,
  };
}

function readingOf({ from, outcome }: Input): Reading {
  return outcome.kind === "found" ? { from, ratio: outcome.value, why: null } : { from, ratio: null, why: outcome.why };
}

/** How a controller's usage is held against its limit. */
export interface CgroupFiles {
  readonly readLimit: (cgroup: Cgroup) => Outcome<bigint>;
  readonly readUsage: (cgroup: Cgroup) => Outcome<bigint>;
}

/** One input for each cgroup found, usage and limit from the same one, and one for each problem of finding them. */
export function cgroupInputs(discovery: Discovery, files: CgroupFiles): readonly Input[] {
  const cgroups = discovery.cgroups.map((cgroup) => ({ from: cgroup.directory, outcome: ratioOf(cgroup, files) }));
  return [...discovery.problems, ...cgroups];
}

function ratioOf(cgroup: Cgroup, { readLimit, readUsage }: CgroupFiles): Outcome<number> {
  const limit = readLimit(cgroup);
  // Most cgroups are unlimited, and then their usage need not be read.
  if (limit.kind !== "found") return limit;
  const usage = readUsage(cgroup);
  return usage.kind === "found" ? usageRatio(usage.value, limit.value) : usage;
}
