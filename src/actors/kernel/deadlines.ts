import type { Clock } from "../../ports/clock.ts";

/** Something that ends by a certain time. Linked to its neighbours in one line of deadlines, so that leaving it is cheap. */
export abstract class Deadline {
  /** Null: in no line; it has ended. */
  line: Line | null = null;
  dueMs = 0;
  previous: Deadline | null = null;
  next: Deadline | null = null;

  /** Called once, unless it is cancelled before. */
  abstract expire(): void;
}

/** Deadlines of one length, the next one first. */
interface Line {
  readonly afterMs: number;
  first: Deadline | null;
  last: Deadline | null;
}

/**
 * The deadlines of questions. Those of one length fall due in the order in which they were set, so each length has one
 * line and one timer, which is set again for whatever is first when it fires. Nearly every question is answered in time;
 * a timer of its own for each was 4 % of what a call over HTTP costs.
 */
export class Deadlines {
  readonly #clock: Clock;
  /** By length. A line goes when its timer finds nothing in it, so there are as many as lengths in use. */
  readonly #lines = new Map<number, Line>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `expire` once, `afterMs` from now, unless it is cancelled before. */
  set(afterMs: number, expire: () => void): Deadline {
    const deadline = new CallAtDeadline(expire);
    this.add(afterMs, deadline);
    return deadline;
  }

  /** As `set`, for whoever is a deadline itself. To be added once. */
  add(afterMs: number, deadline: Deadline): void {
    deadline.dueMs = this.#clock.monotonicMs() + afterMs;
    let line = this.#lines.get(afterMs);
    if (line === undefined) {
      line = { afterMs, first: null, last: null };
      this.#lines.set(afterMs, line);
      this.#wakeIn(afterMs, line);
    }
    deadline.line = line;
    deadline.previous = line.last;
    if (line.last === null) line.first = deadline;
    else line.last.next = deadline;
    line.last = deadline;
  }

  /** Nothing for one that has ended. */
  cancel(deadline: Deadline): void {
    const { line, previous, next } = deadline;
    if (line === null) return;
    if (previous === null) line.first = next;
    else previous.next = next;
    if (next === null) line.last = previous;
    else next.previous = previous;
    deadline.line = null;
    deadline.previous = null;
    deadline.next = null;
  }

  #wakeIn(delayMs: number, line: Line): void {
    this.#clock.after(delayMs, () => {
      const nowMs = this.#clock.monotonicMs();
      for (let first = line.first; first !== null; first = line.first) {
        if (first.dueMs > nowMs) {
          this.#wakeIn(first.dueMs - nowMs, line);
          return;
        }
        this.cancel(first);
        first.expire();
      }
      this.#lines.delete(line.afterMs);
    });
  }
}

class CallAtDeadline extends Deadline {
  readonly #call: () => void;

  constructor(call: () => void) {
    super();
    this.#call = call;
  }

  expire(): void {
    this.#call();
  }
}
