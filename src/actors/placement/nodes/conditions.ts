/**
 * Pressure conditions with hysteresis: a condition enters after so many samples in a row at or above one threshold, and
 * leaves after so many in a row below a lower one. Each metric is on its own. Unknown samples do neither.
 */
import { CONDITIONS, type Condition } from "../../../messages/nodes.ts";
import type { Metric } from "../../../messages/sampling.ts";
import type { PressureRule } from "../config.ts";

export const METRIC_OF: Readonly<Record<Condition, Metric>> = {
  CPU_PRESSURE: "cpu",
  MEMORY_PRESSURE: "memory",
  PID_PRESSURE: "pid",
  FD_PRESSURE: "fd",
  DISK_PRESSURE: "disk",
};

export interface Streak {
  /** Samples in a row at or above `enterAt`. */
  high: number;
  /** Samples in a row below `recoverBelow`. */
  low: number;
}

export interface Streaks {
  readonly of: Readonly<Record<Condition, Streak>>;
  /** Of the newest sample; null: none yet, or the daemon numbers none. */
  lastResourceSequence: number | null;
  lastSampleAtMs: number | null;
}

export function newStreaks(): Streaks {
  const none = (): Streak => ({ high: 0, low: 0 });
  return {
    of: {
      CPU_PRESSURE: none(),
      MEMORY_PRESSURE: none(),
      PID_PRESSURE: none(),
      FD_PRESSURE: none(),
      DISK_PRESSURE: none(),
    },
    lastResourceSequence: null,
    lastSampleAtMs: null,
  };
}

/** A gap or a new daemon: what was in a row is so no more. */
export function breakStreaks(streaks: Streaks): void {
  for (const condition of CONDITIONS) breakStreak(streaks.of[condition]);
}

function breakStreak(streak: Streak): void {
  streak.high = 0;
  streak.low = 0;
}

/**
 * Counts one sample, a ratio within [0, 1] or null, and says what it completes. Samples under a condition do not count
 * towards it, so that one cleared by hand needs as many to come back as it took the first time.
 */
export function countSample(
  streak: Streak,
  sample: number | null,
  rule: PressureRule,
  active: boolean,
): "entered" | "recovered" | null {
  if (sample === null) {
    breakStreak(streak);
    return null;
  }
  streak.high = !active && sample >= rule.enterAt ? streak.high + 1 : 0;
  streak.low = sample < rule.recoverBelow ? streak.low + 1 : 0;
  if (!active && streak.high >= rule.enterSamples) {
    breakStreak(streak);
    return "entered";
  }
  if (active && streak.low >= rule.recoverSamples) {
    breakStreak(streak);
    return "recovered";
  }
  return null;
}
