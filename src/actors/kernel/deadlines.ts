import type { Clock } from "../../ports/clock.ts";

export interface Deadline {
  readonly afterMs: number;
  readonly dueMs: number;
  readonly expire: () => void;
}

/**
 * The deadlines of questions. Those of one length fall due in the order in which they were set, so each length has one
 * queue and one timer, which is set again for whatever is first when it fires. Nearly every question is answered in time;
 * a timer of its own for each was 4 % of what a call over HTTP costs.
 */
export class Deadlines {
  readonly #clock: Clock;
  /** By length. A queue goes when its timer finds nothing in it, so there are as many as lengths in use. */
  readonly #queues = new Map<number, Set<Deadline>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `expire` once, `afterMs` from now, unless it is cancelled before. */
  set(afterMs: number, expire: () => void): Deadline {
    const deadline = { afterMs, dueMs: this.#clock.monotonicMs() + afterMs, expire };
    const queue = this.#queues.get(afterMs);
    if (queue === undefined) {
      const opened = new Set([deadline]);
      this.#queues.set(afterMs, opened);
      this.#wakeIn(afterMs, afterMs, opened);
    } else queue.add(deadline);
    return deadline;
  }

  cancel(deadline: Deadline): void {
    this.#queues.get(deadline.afterMs)?.delete(deadline);
  }

  #wakeIn(delayMs: number, afterMs: number, queue: Set<Deadline>): void {
    this.#clock.after(delayMs, () => {
      const nowMs = this.#clock.monotonicMs();
      for (const deadline of queue) {
        if (deadline.dueMs > nowMs) {
          this.#wakeIn(deadline.dueMs - nowMs, afterMs, queue);
          return;
        }
        queue.delete(deadline);
        deadline.expire();
      }
      this.#queues.delete(afterMs);
    });
  }
}
