/** What the journal's compaction needs to know of placement: which entries stand for everything that lives. */
import type { Random } from "../../ports/random.ts";
import { defaultPlacementConfig } from "./config.ts";
import type { PlacementEvent } from "./events.ts";
import { createPlacement } from "./state.ts";

/** Replaying draws nothing. */
const noChance: Random = {
  fraction: () => 0,
  bytes: (count) => new Uint8Array(count),
};

/** The entries that rebuild what these entries leave; a `SnapshotModule` of the journal. */
export function snapshotOf(entries: Iterable<unknown>, wallMs: number): Iterable<PlacementEvent> {
  const now = { nowMs: 0, wallMs };
  const placement = createPlacement(defaultPlacementConfig, { random: noChance }, now);
  placement.replay(entries as Iterable<PlacementEvent>, now);
  return placement.snapshot(now);
}
