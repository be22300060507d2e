/** What the journal's compaction needs to know of placement: which entries stand for everything that lives. */
import type { Random } from "../../ports/random.ts";
import { type AssignmentChange, foldAssignments } from "../directory/client.ts";
import { defaultPlacementConfig } from "./config.ts";
import type { LogEntry } from "./event-log.ts";
import type { PlacementEvent } from "./events.ts";
import type { Instant } from "./instant.ts";
import { createPlacement, type Placement } from "./state.ts";

/** Folding draws nothing. */
const noChance: Random = {
  fraction: () => 0,
  bytes: (count) => new Uint8Array(count),
};

/**
 * Folding takes what is later than its own time for an error of the clock. The last millisecond of the calendar
 * (ECMA-262, "Time Values and Time Range") is later than anything in a log, whatever the wall clock says by now, and
 * still an exact integer.
 */
const AT_THE_END: Instant = { nowMs: 0, wallMs: 8.64e15 };

export interface FoldedLog {
  /** As the log left it: to look at, not to decide with. */
  readonly placement: Placement;
  readonly assignments: readonly AssignmentChange[];
  /** The time of the newest event, on the clock of `placement`. */
  readonly newest: Instant;
}

/** What the entries of a log leave. Throws when they make no sense together. */
export function foldLog(entries: Iterable<LogEntry>): FoldedLog {
  const placement = createPlacement(defaultPlacementConfig, { random: noChance }, AT_THE_END);
  const aside: Exclude<LogEntry, PlacementEvent>[] = [];
  let wallMs = 0;
  function* sorted(): Generator<PlacementEvent> {
    for (const entry of entries) {
      if (!("change" in entry)) {
        aside.push(entry);
        continue;
      }
      wallMs = Math.max(wallMs, entry.wallMs);
      yield entry;
    }
  }
  placement.fold(sorted(), AT_THE_END);
  return {
    placement,
    assignments: foldAssignments(aside),
    newest: { nowMs: AT_THE_END.nowMs + wallMs - AT_THE_END.wallMs, wallMs },
  };
}

/**
 * The entries that rebuild what these entries leave; a `SnapshotModule` of the journal. Every time in them is the one
 * that the log had, so that leases after a restart are the same with a snapshot and without.
 */
export function snapshotOf(entries: Iterable<unknown>): LogEntry[] {
  const { placement, assignments, newest } = foldLog(entries as Iterable<LogEntry>);
  return [...placement.snapshot(newest), ...assignments.map((assignment) => ({ assignment }))];
}
