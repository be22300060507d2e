import type { EventLog, LogEntry } from "./event-log.ts";

/** Called once: with true when the decision's position is committed, with false when nothing can be promised. */
export type Settle = (committed: boolean) => void;

interface Batch {
  readonly entries: LogEntry[];
  readonly settles: Settle[];
}

/**
 * Holds what was decided until the log has it.
 *
 * ```
 *  add ──▶ gathered ──flush──▶ in flight ──committed──▶ settled(true), then the next flush
 *              └───────────────────┴──────failed──────▶ settled(false), all of both
 * ```
 *
 * One batch is in flight; deciding goes on meanwhile and gathers the next, so the log's latency bounds only how long an
 * answer waits. A decision without entries waits too: the state it was computed from may stand on entries in flight.
 * It knows no bound itself: who adds asks `waiting` first.
 */
export class CommitQueue {
  readonly #log: EventLog;
  readonly #onFailed: (reason: string) => void;
  #gathered: Batch = { entries: [], settles: [] };
  #inFlight: Batch | null = null;

  /** `onFailed` is called after everything has been settled; the state that was decided on is then worth nothing. */
  constructor(log: EventLog, onFailed: (reason: string) => void) {
    this.#log = log;
    this.#onFailed = onFailed;
  }

  /** Decisions that wait for an append to begin. */
  get waiting(): number {
    return this.#gathered.settles.length;
  }

  get idle(): boolean {
    return this.#inFlight === null && this.#gathered.settles.length === 0;
  }

  add(entries: readonly LogEntry[], settle: Settle): void {
    for (const entry of entries) this.#gathered.entries.push(entry);
    this.#gathered.settles.push(settle);
  }

  /** Commits what has been gathered, unless a batch is in flight: then it goes when that one is through. */
  flush(): void {
    if (this.#inFlight !== null || this.#gathered.settles.length === 0) return;
    const batch = this.#gathered;
    this.#gathered = { entries: [], settles: [] };
    if (batch.entries.length === 0) {
      for (const settle of batch.settles) settle(true);
      return;
    }
    this.#inFlight = batch;
    this.#log.append(batch.entries, (failure) => {
      // A log that answers twice must not settle the batch after this one.
      if (this.#inFlight === batch) this.#finish(batch, failure);
    });
  }

  #finish(batch: Batch, failure: string | null): void {
    this.#inFlight = null;
    if (failure === null) {
      for (const settle of batch.settles) settle(true);
      this.flush();
      return;
    }
    const lost = [...batch.settles, ...this.#gathered.settles];
    this.#gathered = { entries: [], settles: [] };
    for (const settle of lost) settle(false);
    this.#onFailed(failure);
  }
}
