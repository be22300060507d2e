/** All durable state, as events that rebuild it. */
import type { Core } from "./core.ts";
import type { Change, PlacementEvent } from "./events.ts";
import type { Instant } from "./instant.ts";
import { recordOf } from "./ledger/record.ts";
import { nodeRecordOf } from "./nodes/fleet.ts";

/** In an order that can be replayed: nodes, then named sandboxes, then reservations as they were made. */
export function snapshotOf(core: Core, position: number, now: Instant): PlacementEvent[] {
  const { fleet, ledger } = core;
  const events: PlacementEvent[] = [];
  const add = (change: Change, wallMs = now.wallMs): void => {
    events.push({ position, wallMs, change });
  };
  for (const node of fleet.nodes.values()) {
    if (node.journaled) add({ type: "node_restored", record: nodeRecordOf(node, now) });
  }
  for (const [sandboxId, { how, nodeId, atMs }] of ledger.named) {
    add({ type: "sandbox_named", sandboxId, how, nodeId }, now.wallMs + atMs - now.nowMs);
  }
  for (const reservation of ledger.reservations.values()) {
    add({ type: "reservation_restored", record: recordOf(reservation, now) });
  }
  return events;
}
