/** Nodes as they are counted for metrics. Looks at each once and makes nothing of it: no decision waits long for that. */
import type { Condition, LiveCounts, NodeCounts, NodeStatus } from "../../../messages/nodes.ts";
import { type Core, rulesAt } from "../core.ts";
import type { Instant } from "../instant.ts";
import { statusOf } from "./lifecycle.ts";
import { isShown } from "./view.ts";

/** Those that are shown. Reservations are told by node where there are no more nodes than `byNodeUpTo`. */
export function nodeCountsOf(core: Core, now: Instant, byNodeUpTo: number): NodeCounts {
  const { hearing } = rulesAt(core, now.nowMs);
  const byStatus: Record<NodeStatus, number> = { READY: 0, CONNECTING: 0, UNHEALTHY: 0, LINGERING: 0 };
  const byCondition: Record<Condition, number> = {
    CPU_PRESSURE: 0,
    MEMORY_PRESSURE: 0,
    PID_PRESSURE: 0,
    FD_PRESSURE: 0,
    DISK_PRESSURE: 0,
  };
  const sums = { pending: 0, confirmed: 0 };
  let count = 0;
  for (const node of core.fleet.nodes.values()) {
    if (!isShown(node)) continue;
    count += 1;
    byStatus[statusOf(node, hearing)] += 1;
    if (node.conditions.size > 0) for (const condition of node.conditions.keys()) byCondition[condition] += 1;
    sums.pending += node.account.inFlight.pending;
    sums.confirmed += node.account.inFlight.confirmed;
  }
  const reservationsByNode = count > byNodeUpTo ? null : reservationsByNodeOf(core);
  return { byStatus, byCondition, reservations: sums, reservationsByNode };
}

function reservationsByNodeOf(core: Core): (LiveCounts & { readonly nodeId: string })[] {
  const holders: (LiveCounts & { readonly nodeId: string })[] = [];
  // Whatever node has one is shown.
  for (const { nodeId, account } of core.fleet.nodes.values()) {
    const { pending, confirmed } = account.inFlight;
    if (pending + confirmed > 0) holders.push({ nodeId, pending, confirmed });
  }
  return holders;
}
