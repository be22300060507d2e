/** What several strategies share. A comparison is negative when the left node goes first. */
import { CONDITIONS } from "../../../messages/nodes.ts";
import type { PlacementConfig } from "../config.ts";
import { METRIC_OF } from "../nodes/conditions.ts";
import { isNeverHeard } from "../nodes/lifecycle.ts";
import type { Node } from "../nodes/node.ts";

/** Whether a pressure condition ranks it behind the others. */
export function isUnderDemotingCondition(node: Node, config: PlacementConfig): boolean {
  if (node.conditions.size === 0) return false;
  return CONDITIONS.some(
    (condition) => node.conditions.has(condition) && config.pressure[METRIC_OF[condition]].action === "demote",
  );
}

/** What holds for every strategy, as a tier: nodes never heard from last, those under a demoting condition behind the others. */
export function standingOf(node: Node, config: PlacementConfig): number {
  return (isNeverHeard(node) ? 2 : 0) + (isUnderDemotingCondition(node, config) ? 1 : 0);
}

/** Least recently chosen, then id by code units: total, since ids differ. */
export function compareTurns(left: Node, right: Node): number {
  if (left.lastChosenTurn !== right.lastChosenTurn) return left.lastChosenTurn - right.lastChosenTurn;
  return left.nodeId < right.nodeId ? -1 : 1;
}

/** The first in an order; undefined when there is none. */
export function firstOf(nodes: readonly Node[], compare: (left: Node, right: Node) => number): Node | undefined {
  let best: Node | undefined;
  for (const node of nodes) if (best === undefined || compare(node, best) < 0) best = node;
  return best;
}
