/**
 * Time, as the actors see it. Everything that reads or waits for time takes a `Clock`, so that a test can step it;
 * `Date.now`, `performance.now` and `setTimeout` occur in this folder only.
 */

/** A pending timer. Cancelling one that has fired, or twice, does nothing. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since an arbitrary origin, fractional, never running backwards. For differences and deadlines. */
  monotonicMs(): number;
  /** Milliseconds since the Unix epoch. For what people and other machines read; it may jump. */
  wallMs(): number;
  /**
   * Calls `run` once, `delayMs` from now (0 or less: as soon as possible). A pending timer does not keep the process
   * alive: what must stay alive holds a socket or a thread.
   */
  after(delayMs: number, run: () => void): Timer;
}

// Node clamps longer delays to 1 ms, which would turn a far deadline into an immediate one.
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  after(delayMs, run) {
    const timeout = setTimeout(run, Math.min(Math.max(delayMs, 0), LONGEST_TIMEOUT_MS));
    timeout.unref();
    return { cancel: () => clearTimeout(timeout) };
  },
};
