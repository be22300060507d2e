import { CONDITIONS, type NodeCounts, type NodeView } from "../../src/messages/nodes.ts";

/** What `count_nodes` has to answer where these nodes are shown, each counted on its own; by node in order of the id. */
export function countsOfViews(views: readonly NodeView[]): NodeCounts {
  const having = (is: (view: NodeView) => boolean): number => views.filter(is).length;
  const status = (name: NodeView["status"]): number => having((view) => view.status === name);
  const live = (state: "pending" | "confirmed"): number =>
    views.reduce((sum, { reservations }) => sum + reservations[state], 0);
  const byCondition = CONDITIONS.map((name) => [
    name,
    having(({ conditions }) => conditions.some(({ type }) => type === name)),
  ]);
  return {
    byStatus: {
      READY: status("READY"),
      CONNECTING: status("CONNECTING"),
      UNHEALTHY: status("UNHEALTHY"),
      LINGERING: status("LINGERING"),
    },
    byCondition: Object.fromEntries(byCondition) as NodeCounts["byCondition"],
    reservations: { pending: live("pending"), confirmed: live("confirmed") },
    reservationsByNode: views
      .filter(({ reservations }) => reservations.pending + reservations.confirmed > 0)
      .map(({ nodeId, reservations }) => ({ nodeId, ...reservations })),
  };
}

/** The same with its nodes in order of the id. */
export function inOrder({ reservationsByNode, ...counts }: NodeCounts): NodeCounts {
  const sorted = reservationsByNode?.toSorted((left, right) => (left.nodeId < right.nodeId ? -1 : 1)) ?? null;
  return { ...counts, reservationsByNode: sorted };
}
