/** Gauges of nodes and live reservations, read from the placement actor when somebody looks. */
import { Gauge, type Registry } from "prom-client";
import { CONDITIONS, type NodeCounts } from "../../messages/nodes.ts";
import type { PlacementClient } from "../placement/client.ts";

/** Beyond this many nodes, series of each would cost a Prometheus server more than they tell. */
const NODES_BY_ID_MAX = 1_000;

const STATUSES = ["READY", "CONNECTING", "UNHEALTHY", "LINGERING"] as const;
const LIVE = ["pending", "confirmed"] as const;

/** Adds the gauges; the function brings them up to date. When nobody answers, they stay as they were last. */
export function addFleetMetrics(registry: Registry, placement: PlacementClient): (byNode: boolean) => Promise<void> {
  const registers = [registry];
  const nodes = new Gauge({
    name: "evenkeel_observed_nodes",
    help: "Nodes that are known.",
    labelNames: ["status"],
    registers,
  });
  const conditions = new Gauge({
    name: "evenkeel_node_conditions",
    help: "Nodes under a pressure condition.",
    labelNames: ["condition"],
    registers,
  });
  const reservations = new Gauge({
    name: "evenkeel_reservations",
    help: 'Live reservations; the sums are the series without node_id (node_id=""), the others are parts of them.',
    labelNames: ["state", "node_id"],
    registers,
  });
  const show = ({ byStatus, byCondition, reservations: sums, reservationsByNode }: NodeCounts): void => {
    for (const status of STATUSES) nodes.set({ status }, byStatus[status]);
    for (const condition of CONDITIONS) conditions.set({ condition }, byCondition[condition]);
    // Series of nodes that are gone, or hold none any more, go with them.
    reservations.reset();
    for (const state of LIVE) {
      reservations.set({ state }, sums[state]);
      for (const { nodeId, [state]: count } of reservationsByNode ?? []) {
        if (count > 0) reservations.set({ state, node_id: nodeId }, count);
      }
    }
  };
  return async (byNode) => {
    const byNodeUpTo = byNode ? Number.MAX_SAFE_INTEGER : NODES_BY_ID_MAX;
    const reply = await placement.ask({ type: "count_nodes", byNodeUpTo });
    if (reply.ok) show(reply.answer);
  };
}
