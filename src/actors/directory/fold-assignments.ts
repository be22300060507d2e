/**
 * What the log holds of assignments. A call's route is committed with its answer, before the directory hears of it; so
 * the log needs of the directory only what the route does not say by itself.
 */
import type { RouteChange } from "../placement/client.ts";
import type { AssignmentChange } from "./assignments.ts";

/** What calls said, and what the directory made of them, of rosters and of time. */
export type AssignmentEntry = { readonly route: Said } | { readonly assignment: AssignmentChange };

type Said = Exclude<RouteChange, { readonly type: "roster" }>;

/** Of what a route changed, that which `foldAssignments` would not make of the route alone. */
export function unsaidChanges(route: RouteChange, changes: readonly AssignmentChange[]): readonly AssignmentChange[] {
  switch (route.type) {
    case "roster":
      return changes;
    case "assigned":
      // It took over from what a roster had shown, or a roster kept it from doing so.
      return changes.every((change) => change.type === "assigned" && change.nodeId === route.nodeId) ? [] : changes;
    case "deleted":
    case "node_gone":
      // Where a rival inherits, it is named after the drop.
      return changes.filter(({ type }) => type === "assigned");
    default:
      return route satisfies never;
  }
}

/**
 * The assignments that these entries leave, oldest entry first. A route takes nothing from what a roster has shown: as
 * in the directory, that stays until it is dropped.
 */
export function foldAssignments(entries: Iterable<AssignmentEntry>): AssignmentChange[] {
  const held = new Map<string, Extract<AssignmentChange, { readonly type: "assigned" }>>();
  for (const entry of entries) {
    const change = "route" in entry ? entry.route : entry.assignment;
    switch (change.type) {
      case "assigned":
        if ("assignment" in entry || held.get(change.sandboxId)?.source !== "roster") {
          held.set(change.sandboxId, change);
        }
        break;
      case "deleted":
      case "assignment_dropped":
        held.delete(change.sandboxId);
        break;
      case "node_gone":
        for (const [sandboxId, { nodeId }] of held) if (nodeId === change.nodeId) held.delete(sandboxId);
        break;
      default:
        change satisfies never;
    }
  }
  return [...held.values()];
}
