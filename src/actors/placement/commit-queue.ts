import type { Clock, Timer } from "../../ports/clock.ts";
import type { EventLog, LogEntry } from "./event-log.ts";

/** Called once: with true when the decision's position is committed, with false when nothing can be promised. */
export type Settle = (committed: boolean) => void;

export interface CommitQueueOptions {
  readonly log: EventLog;
  readonly clock: Clock;
  /** Called after everything has been settled; the state that was decided on is then worth nothing. */
  readonly onFailed: (reason: string) => void;
}

/** Measured at 64 callers in lockstep: less leaves appends half full, more makes everyone wait for stragglers. */
const COMPANY_SHARE = 0.5;
/** On a slow disk a caller must not wait for others for longer than anyone notices. */
const COMPANY_MS_MAX = 2;

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
 *
 * Callers that wait for their answers come in lockstep: one half gathers while the other is in flight, and each waits for
 * two appends. So after an append the next is held back a little, until as many have gathered as were waiting then, or
 * for a part of the time that the append took. A lone caller is never held back, nor anyone by a log that is quick.
 */
export class CommitQueue {
  readonly #log: EventLog;
  readonly #onFailed: (reason: string) => void;
  #gathered: Batch = { entries: [], settles: [] };
  #inFlight: Batch | null = null;
  readonly #clock: Clock;
  /** How many decisions the next append waits for, and until when. */
  #company = 0;
  #companyUntilMs = Number.NEGATIVE_INFINITY;
  #companyTimer: Timer | null = null;
  #appendedAtMs = 0;

  constructor({ log, clock, onFailed }: CommitQueueOptions) {
    this.#log = log;
    this.#clock = clock;
    this.#onFailed = onFailed;
  }

  /** Decisions that wait for an append to begin. */
  get waiting(): number {
    return this.#gathered.settles.length;
  }

  add(entries: readonly LogEntry[], settle: Settle): void {
    for (const entry of entries) this.#gathered.entries.push(entry);
    this.#gathered.settles.push(settle);
  }

  /** Commits what has been gathered, unless a batch is in flight: then it goes when that one is through. */
  flush(): void {
    if (this.#inFlight !== null || this.#gathered.settles.length === 0 || this.#awaitsCompany()) return;
    const batch = this.#gathered;
    this.#gathered = { entries: [], settles: [] };
    if (batch.entries.length === 0) {
      for (const settle of batch.settles) settle(true);
      return;
    }
    this.#inFlight = batch;
    this.#appendedAtMs = this.#clock.monotonicMs();
    this.#log.append(batch.entries, (failure) => {
      // A log that answers twice must not settle the batch after this one.
      if (this.#inFlight === batch) this.#finish(batch, failure);
    });
  }

  #awaitsCompany(): boolean {
    const leftMs = this.#companyUntilMs - this.#clock.monotonicMs();
    if (leftMs <= 0 || this.#gathered.settles.length >= this.#company) return false;
    this.#companyTimer ??= this.#clock.after(leftMs, () => {
      this.#companyTimer = null;
      this.flush();
    });
    return true;
  }

  #finish(batch: Batch, failure: string | null): void {
    this.#inFlight = null;
    if (failure === null) {
      const nowMs = this.#clock.monotonicMs();
      this.#company = batch.settles.length + this.#gathered.settles.length;
      this.#companyUntilMs = nowMs + Math.min(COMPANY_MS_MAX, COMPANY_SHARE * (nowMs - this.#appendedAtMs));
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
