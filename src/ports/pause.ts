import type { Clock } from "./clock.ts";

/** Longer than any wait, and within what Node's timers take. */
const NEVER_MS = 2 ** 31 - 1;

/**
 * Resolves after `ms`, or as soon as `signal` is aborted. Unlike a bare timer of the clock it keeps the process alive:
 * for programs and clients that have nothing else open while they wait.
 */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const alive = setInterval(() => undefined, NEVER_MS);
    const end = (): void => {
      clearInterval(alive);
      timer.cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.after(ms, end);
    signal?.addEventListener("abort", end);
  });
}
