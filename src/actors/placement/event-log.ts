import type { AssignmentChange, AssignmentEntry } from "../directory/client.ts";
import type { PlacementEvent } from "./events.ts";
import type { JournaledRoute } from "./turn.ts";

/**
 * One line of the log: a durable change of placement; where a call said that a sandbox is; or what the directory itself
 * made of rosters and of time.
 */
export type LogEntry = PlacementEvent | { readonly route: JournaledRoute } | { readonly assignment: AssignmentChange };

/** The entries that rebuild the directory of assignments. */
export function* assignmentEntriesOf(entries: Iterable<LogEntry>): Generator<AssignmentEntry> {
  for (const entry of entries) if (!("change" in entry)) yield entry;
}

/** The entries that rebuild placement. */
export function* placementEventsOf(entries: Iterable<LogEntry>): Generator<PlacementEvent> {
  for (const entry of entries) if ("change" in entry) yield entry;
}

/**
 * Where the placement actor's decisions are committed before anything decided with them is told. Implementations may be in
 * another thread; both calls end in exactly one call of `done`, at once or later.
 */
export interface EventLog {
  /**
   * Commits the entries, all of them or none, after everything appended before. Placement keeps one append open at a time.
   * `done(null)`: they are durable. `done(reason)`: nothing is promised, some may be durable all the same.
   */
  append(entries: readonly LogEntry[], done: (failure: string | null) => void): void;
  /** Commits, some time soon, what no answer hangs on; a failing log may lose it. */
  note(entries: readonly LogEntry[]): void;
  /**
   * Gives back what was committed, in order, for a start or after a failed append. It fails for as long as an append
   * would: who reads means to go on. Null: this log keeps nothing, and its appends never fail.
   */
  readonly read: ((done: (outcome: LogContent) => void) => void) | null;
}

export type LogContent =
  | { readonly ok: true; readonly entries: Iterable<LogEntry> }
  | { readonly ok: false; readonly reason: string };

/** `--state-dir none`: what the process holds is all there is, so every entry is as durable as it will ever be. */
export const memoryLog: EventLog = {
  append: (_entries, done) => done(null),
  note: () => undefined,
  read: null,
};
