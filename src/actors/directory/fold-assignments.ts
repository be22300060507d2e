import type { AssignmentChange } from "./assignments.ts";

/** What the log holds of assignments: what calls said, and what the directory made of rosters and of time. */
export type AssignmentEntry = { readonly route: Said } | { readonly assignment: AssignmentChange };

type Said =
  | {
      readonly type: "assigned";
      readonly sandboxId: string;
      readonly nodeId: string;
      readonly source: "confirm" | "create" | "record";
    }
  | { readonly type: "deleted"; readonly sandboxId: string }
  | { readonly type: "node_gone"; readonly nodeId: string };

/**
 * The assignments that these entries leave, oldest entry first. Of a sandbox that two nodes claim, the one whose roster
 * showed it keeps it, as in the directory, until that is dropped.
 */
export function foldAssignments(entries: Iterable<AssignmentEntry>): AssignmentChange[] {
  const held = new Map<string, Extract<AssignmentChange, { readonly type: "assigned" }>>();
  const drop = (sandboxId: string): void => void held.delete(sandboxId);
  for (const entry of entries) {
    const change = "route" in entry ? entry.route : entry.assignment;
    switch (change.type) {
      case "assigned":
        if (change.source === "roster" || held.get(change.sandboxId)?.source !== "roster") {
          held.set(change.sandboxId, change);
        }
        break;
      case "deleted":
      case "assignment_dropped":
        drop(change.sandboxId);
        break;
      case "node_gone":
        for (const [sandboxId, { nodeId }] of held) if (nodeId === change.nodeId) drop(sandboxId);
        break;
      default:
        change satisfies never;
    }
  }
  return [...held.values()];
}
