/** What the journal's compaction needs to know of placement: which entries stand for everything that lives. */
import type { Random } from "../../ports/random.ts";
import { type AssignmentChange, foldAssignments } from "../directory/client.ts";
import { defaultPlacementConfig } from "./config.ts";
import type { LogEntry } from "./event-log.ts";
import type { PlacementEvent } from "./events.ts";
import { createPlacement } from "./state.ts";

/** Folding draws nothing. */
const noChance: Random = {
  fraction: () => 0,
  bytes: (count) => new Uint8Array(count),
};

/** The entries that rebuild what these entries leave; a `SnapshotModule` of the journal. */
export function snapshotOf(entries: Iterable<unknown>, wallMs: number): LogEntry[] {
  const now = { nowMs: 0, wallMs };
  const placement = createPlacement(defaultPlacementConfig, { random: noChance }, now);
  const aside: Exclude<LogEntry, PlacementEvent>[] = [];
  placement.fold(sorted(entries as Iterable<LogEntry>, aside), now);
  return [...placement.snapshot(now), ...foldAssignments(aside).map(asEntry)];
}

const asEntry = (assignment: AssignmentChange): LogEntry => ({ assignment });

/** Placement's events, one by one as they are read; what is for the directory is put aside. */
function* sorted(entries: Iterable<LogEntry>, aside: Exclude<LogEntry, PlacementEvent>[]): Generator<PlacementEvent> {
  for (const entry of entries) {
    if ("change" in entry) yield entry;
    else aside.push(entry);
  }
}
