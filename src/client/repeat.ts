import type { Clock } from "../ports/clock.ts";
import { pause } from "../ports/pause.ts";
import type { Random } from "../ports/random.ts";
import { abortedBy, PlacementError } from "./errors.ts";

/** Short enough that a restarted scheduler is noticed at once, long enough that a fleet of callers does not hold it down. */
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;

export interface RepeatOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** After this long no further try begins; the first always does. */
  readonly withinMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Repeats a call that may be repeated safely while it fails for a passing reason, with jittered back-off. Each try is
 * told what is left of the time. Throws the last `PlacementError`, or `aborted` when the signal was during a wait.
 */
export async function repeat<T>(run: (leftMs: number) => Promise<T>, options: RepeatOptions): Promise<T> {
  const { clock, random, withinMs, signal } = options;
  const endsAtMs = clock.monotonicMs() + withinMs;
  for (let tries = 1; ; tries++) {
    try {
      return await run(endsAtMs - clock.monotonicMs());
    } catch (thrown) {
      if (!(thrown instanceof PlacementError) || !thrown.repeatable) throw thrown;
      const boundMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries - 1, 30));
      const waitMs = Math.max(thrown.retryAfterMs ?? 0, boundMs * (0.5 + random.fraction() / 2));
      if (clock.monotonicMs() + waitMs >= endsAtMs) throw thrown;
      await pause(clock, waitMs, signal);
      if (signal?.aborted) throw abortedBy(signal.reason);
      // A busy process wakes late.
      if (clock.monotonicMs() >= endsAtMs) throw thrown;
    }
  }
}
