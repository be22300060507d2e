/** Percentiles of durations, by nearest rank: each is a duration that really occurred. */

export interface Latency {
  readonly count: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Null where nothing was measured. */
export function latencyOf(durationsMs: readonly number[]): Latency | null {
  const sorted = Float64Array.from(durationsMs).sort();
  const rank = (percent: number): number => sorted[Math.ceil((percent / 100) * sorted.length) - 1] ?? 0;
  if (sorted.length === 0) return null;
  return { count: sorted.length, p50Ms: rank(50), p90Ms: rank(90), p99Ms: rank(99), maxMs: rank(100) };
}
