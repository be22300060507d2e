import { found, type Missing, none, type Outcome } from "./outcome.ts";
import { CPU_FIELDS, type CpuTimes } from "./stat.ts";

/** What one sample of the host's CPU times gives, and what the next one is compared with. */
export interface HostCpuStep {
  readonly ratio: Outcome<number>;
  /** Null after a sample that failed, so that the sample after it has no ratio either. */
  readonly baseline: CpuTimes | null;
}

const FIRST: Missing = none("no sample to compare with yet");

/** From the baseline and a new reading to the busy fraction of the time between them. The reading is the next baseline. */
export function stepHostCpu(baseline: CpuTimes | null, reading: Outcome<CpuTimes>): HostCpuStep {
  if (reading.kind !== "found") return { ratio: reading, baseline: null };
  return {
    ratio: baseline === null ? FIRST : busyFraction(baseline, reading.value),
    baseline: reading.value,
  };
}

/**
 * Busy is all but idle and iowait; steal is busy, since the node could not use that time.
 *
 * Single fields run backwards on real kernels: iowait (proc(5) says so), steal by hundreds of millions after a live
 * migration, idle when a CPU goes offline. Each difference is therefore floored at 0 by itself: a floor on the total would
 * let one field swallow the others.
 */
function busyFraction(before: CpuTimes, after: CpuTimes): Outcome<number> {
  let total = 0n;
  let notBusy = 0n;
  for (const field of CPU_FIELDS) {
    const difference = after[field] - before[field];
    if (difference <= 0n) continue;
    total += difference;
    if (field === "idle" || field === "iowait") notBusy += difference;
  }
  if (total === 0n) return none("no CPU time has passed since the last sample");
  return found(Number(total - notBusy) / Number(total));
}
