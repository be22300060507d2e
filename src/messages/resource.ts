/** What is said between the conductor, the resource cache, and those who show what it holds. */
import type { Observation, Source } from "./sampling.ts";

/** Conductor → cache: the source gave no observation for this tick, so nothing is known of it now. */
export interface Missed {
  readonly type: "missed";
  readonly source: Source;
  readonly tick: number;
}

/** Conductor → cache: of this tick, every source has been heard or was missed. Comes after what was heard of it. */
export interface Refreshed {
  readonly type: "refreshed";
  readonly tick: number;
}

export type CacheMessage = Observation | Missed | Refreshed;

/** `missed` is an outcome too: the sampler did not answer, or was not running. */
export type SourceOutcome = "ok" | "none" | "failed" | "missed";

/** The state of one source, for `/metrics`. */
export interface SourceStatus {
  readonly source: Source;
  /**
   * `ok`: there is a usable value. `none`: everything could be read and nothing gives a ratio (first sample, no limit).
   * `failed`: something could not be read or parsed. `missed`: the sampler did not answer.
   */
  readonly outcome: SourceOutcome;
  /** When its last observation arrived, in milliseconds of the monotonic clock; null before the first. */
  readonly sampledAtMs: number | null;
  /** How long that sample took, in milliseconds; null before the first. */
  readonly durationMs: number | null;
}

/** What is known of the node now, after all sources have been combined. */
export interface ResourceSnapshot {
  /** Whole cores, and bytes rounded down to GiB; 0 before the first good reading. */
  readonly cpu: number;
  readonly memoryBytes: bigint;
  /** Bytes that the filestore can still promise; null without a filestore or before its first good reading. */
  readonly storageBytes: bigint | null;
  /** Fractions in [0, 1]; null is unknown. */
  readonly utilization: Readonly<Record<"cpu" | "memory" | "pid" | "fd" | "disk", number | null>>;
}

/** Cache → server and reporter: the new state, sent whenever it changed. Nobody asks the cache for it. */
export interface Published {
  readonly type: "published";
  /** The bytes of the answer to `GET /resource`: JSON in UTF-8. */
  readonly body: Uint8Array;
  readonly snapshot: ResourceSnapshot;
  readonly sources: readonly SourceStatus[];
  /** When CPU and memory capacity were last read successfully, monotonic milliseconds; null for never. */
  readonly capacityAtMs: number | null;
  /**
   * How many refreshes have finished, from 0. The state is published several times per tick, as sources are heard; a new
   * number marks the one that stands for the whole tick. It starts again when the cache is restarted.
   */
  readonly refreshes: number;
}
