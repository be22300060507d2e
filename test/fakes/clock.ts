import type { Clock } from "../../src/ports/clock.ts";

export interface FakeClock extends Clock {
  /** Lets time pass: timers that fall due run in order, each at its own instant. */
  advance(ms: number): void;
  /** Timers that are pending. */
  readonly pending: number;
}

/** A clock that a test steps. Monotonic time starts at 0, wall time at `wallMs`. */
export function fakeClock(wallMs = 1_800_000_000_000): FakeClock {
  let nowMs = 0;
  let nextId = 0;
  const timers = new Map<number, { dueMs: number; run: () => void }>();
  const earliest = (untilMs: number) =>
    [...timers].filter(([, { dueMs }]) => dueMs <= untilMs).sort(([a, x], [b, y]) => x.dueMs - y.dueMs || a - b)[0];
  return {
    monotonicMs: () => nowMs,
    wallMs: () => wallMs + nowMs,
    after(delayMs, run) {
      const id = nextId++;
      timers.set(id, { dueMs: nowMs + Math.max(0, delayMs), run });
      return { cancel: () => void timers.delete(id) };
    },
    advance(ms) {
      const untilMs = nowMs + ms;
      for (let next = earliest(untilMs); next !== undefined; next = earliest(untilMs)) {
        const [id, { dueMs, run }] = next;
        timers.delete(id);
        nowMs = Math.max(nowMs, dueMs);
        run();
      }
      nowMs = untilMs;
    },
    get pending() {
      return timers.size;
    },
  };
}

/** Lets the actors work off what is queued: each turn of a mailbox is one `setImmediate`. */
export async function turns(count = 3): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
