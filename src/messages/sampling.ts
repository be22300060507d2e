/** What is said between the sampler actors, the conductor that ticks them, and the resource cache. */

/** The five utilization keys of `GET /resource`, in the order they are written. */
export const METRICS = ["cpu", "memory", "pid", "fd", "disk"] as const;
export type Metric = (typeof METRICS)[number];

/**
 * What one actor samples. `capacity` is a source of its own, so that a metric that fails or hangs never takes the
 * node's capacity, and with it the health check, along.
 */
export const SOURCES = [...METRICS, "capacity"] as const;
export type Source = (typeof SOURCES)[number];

/** One input of a metric, such as the host's meminfo or one cgroup. Plain data, for `/metrics`, logs and `--check`. */
export interface Reading {
  /** Where it came from: a file or cgroup directory, as a path that an operator can open. */
  readonly from: string;
  /** The fraction used, within [0, 1]; null when this input gave no valid ratio. */
  readonly ratio: number | null;
  /**
   * Why `ratio` is null, in words; null when there is a ratio. The readings of `capacity` never have one: theirs says what
   * bound the input sets, or why it sets none.
   */
  readonly why: string | null;
}

/** The outcome of one sample of one metric. A read that failed or did not parse is an outcome, not an exception. */
export interface MetricObservation {
  readonly type: "observed";
  readonly source: Metric;
  /** The tick that asked for it, counting from 1. */
  readonly tick: number;
  /** The maximum valid ratio of all readings, within [0, 1]; null when none is valid. 0 is zero consumption. */
  readonly ratio: number | null;
  /**
   * Whether any file could not be read or parsed, or holds what cannot be true, such as more memory available than there
   * is (as opposed to "the kernel has no such limit").
   */
  readonly failed: boolean;
  readonly readings: readonly Reading[];
  /** Time that the sample took, in milliseconds. */
  readonly durationMs: number;
  /**
   * Only from `disk`: `floor(f_bavail × fragment size × overcommit ratio)` in bytes, from the same statfs call as the
   * ratio; null when the call failed or its counts cannot be true. Absent without a filestore.
   */
  readonly storageBytes?: bigint | null;
}

/** The outcome of one capacity refresh. */
export interface CapacityObservation {
  readonly type: "observed";
  readonly source: "capacity";
  readonly tick: number;
  /** Effective CPU capacity in millicores (≥ 0); null when it could not be read. */
  readonly cpuMillicores: number | null;
  /** Effective memory capacity in bytes, exact, not yet rounded to GiB; null when it could not be read. */
  readonly memoryBytes: bigint | null;
  readonly failed: boolean;
  readonly readings: readonly Reading[];
  readonly durationMs: number;
}

export type Observation = MetricObservation | CapacityObservation;

/** Conductor → sampler: take one sample now. */
export interface Sample {
  readonly type: "sample";
  readonly tick: number;
}

/** All that a sampler needs to be made, as plain data that can cross to a worker thread. */
export interface SamplerInit {
  readonly source: Source;
  /** Stand-ins for `/proc` and `/sys`. */
  readonly proc: string;
  readonly sys: string;
  /** Path below each cgroup mount, without leading slash; null when there is none. */
  readonly sandboxCgroup: string | null;
  /** Directory whose filesystem is measured; null when there is none. */
  readonly filestore: string | null;
  /** Finite, at least 1: promised bytes per physical byte of the filestore. */
  readonly filestoreOvercommitRatio: number;
}
