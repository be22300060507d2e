import type { PlacementEvent } from "./events.ts";

/**
 * Where the placement actor's events are committed before anything decided with them is told. Implementations may be in
 * another thread; both calls end in exactly one call of `done`, at once or later.
 */
export interface EventLog {
  /**
   * Commits the events, all of them or none, after everything appended before. Only one append is open at a time.
   * `done(null)`: they are durable. `done(reason)`: nothing is promised, some may be durable all the same.
   */
  append(events: readonly PlacementEvent[], done: (failure: string | null) => void): void;
  /**
   * Gives back what was committed, in order, for a start or after a failed append. It fails for as long as an append
   * would: who reads means to go on. Null: this log keeps nothing, and its appends never fail.
   */
  readonly read: ((done: (outcome: LogContent) => void) => void) | null;
}

export type LogContent =
  | { readonly ok: true; readonly events: Iterable<PlacementEvent> }
  | { readonly ok: false; readonly reason: string };

/** `--state-dir none`: what the process holds is all there is, so every event is as durable as it will ever be. */
export const memoryLog: EventLog = {
  append: (_events, done) => done(null),
  read: null,
};
