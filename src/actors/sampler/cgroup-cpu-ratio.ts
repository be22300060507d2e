import type { CpuQuota } from "./cgroup-cpu.ts";
import { found, none, type Outcome } from "./outcome.ts";

/** One cgroup's quota, and what it had used at a time. */
export interface CgroupCpuSample extends CpuQuota {
  readonly usageNs: bigint;
  /** On the monotonic clock, in milliseconds, taken right before the usage was read. */
  readonly atMs: number;
}

export interface CgroupCpuStep {
  readonly ratio: Outcome<number>;
  /** Null where there is nothing to compare the next sample with. */
  readonly baseline: CgroupCpuSample | null;
}

const NANOSECONDS_PER_MILLISECOND = 1e6;

/**
 * From one cgroup's baseline and its new reading to the fraction of its quota used in between:
 * Δusage / (Δt × quota cores), at most 1. The reading is the next baseline.
 */
export function stepCgroupCpu(baseline: CgroupCpuSample | null, reading: Outcome<CgroupCpuSample>): CgroupCpuStep {
  if (reading.kind !== "found") return { ratio: reading, baseline: null };
  return { ratio: quotaFraction(baseline, reading.value), baseline: reading.value };
}

function quotaFraction(before: CgroupCpuSample | null, after: CgroupCpuSample): Outcome<number> {
  if (after.quotaUs === 0n) return none("the quota is 0");
  if (before === null) return none("no sample to compare with yet");
  if (after.quotaUs !== before.quotaUs || after.periodUs !== before.periodUs) return none("the quota has changed");
  // The counter of a cgroup never falls: another cgroup has been made at the same path.
  if (after.usageNs < before.usageNs) return none("the usage has fallen");
  const elapsedMs = after.atMs - before.atMs;
  if (!(elapsedMs > 0)) return none("no time has passed since the last sample");
  const usedMs = Number(after.usageNs - before.usageNs) / NANOSECONDS_PER_MILLISECOND;
  const quotaCores = Number(after.quotaUs) / Number(after.periodUs);
  return found(Math.min(1, usedMs / (elapsedMs * quotaCores)));
}
