/** placement.md, section 3: the total order, as a comparison of plain keys, field by field. */
import { METRIC_OF, type Wish } from "./candidates.ts";
import {
  capacityOf,
  countOf,
  DIMENSIONS,
  keepsHealthy,
  type ModelNode,
  type ModelState,
  projectedOf,
} from "./facts.ts";

/** "pressure = max of the known ones"; null when no capacity is known. */
export function pressureOf(state: ModelState, node: ModelNode, wish: Wish | null): number | null {
  const capacity = capacityOf(node);
  const projected = projectedOf(state, node);
  let highest: number | null = null;
  for (const dimension of DIMENSIONS) {
    const whole = capacity[dimension];
    if (whole === null) continue;
    const requested = wish?.demand[dimension] ?? 0;
    const pressure = (projected[dimension] + requested) / (whole * state.config.overcommit[dimension]);
    highest = highest === null ? pressure : Math.max(highest, pressure);
  }
  return highest;
}

/** Section 2: "nodes under a condition are out, or ranked behind, by `pressure_action`." */
function isUnderPressure(state: ModelState, node: ModelNode): boolean {
  return [...node.conditions].some((name) => state.config.pressure[METRIC_OF[name]].action === "demote");
}

/** With what least_loaded calls demoted: "five failed outcomes … rank a node behind all others for 60 s". */
export function isBehind(state: ModelState, node: ModelNode, nowMs: number): boolean {
  return isUnderPressure(state, node) || nowMs < node.demotedUntilMs;
}

/** "at least one capacity is known, and the capacity of every requested dimension is known." */
function isUsable(node: ModelNode, wish: Wish): boolean {
  const capacity = capacityOf(node);
  if (capacity.cpu === null && capacity.memory === null) return false;
  return DIMENSIONS.every((dimension) => wish.demand[dimension] === null || capacity[dimension] !== null);
}

function leastLoadedKey(state: ModelState, node: ModelNode, wish: Wish, nowMs: number): (number | string)[] {
  const usable = isUsable(node, wish);
  return [
    usable ? 0 : 1,
    isBehind(state, node, nowMs) ? 1 : 0,
    // "others keep their counts for ranking": what is not usable has no pressure to compare.
    usable ? (pressureOf(state, node, wish) ?? 0) : 0,
    (node.snapshot?.sandboxStartingCount ?? 0) + countOf(state, node, "pending"),
    (node.snapshot?.sandboxCount ?? 0) + countOf(state, node, "confirmed"),
    node.snapshot?.pausedSandboxCount ?? 0,
    node.chosenAt,
    node.nodeId,
  ];
}

function precedes(left: readonly (number | string)[], right: readonly (number | string)[]): boolean {
  for (const [index, mine] of left.entries()) {
    const theirs = right[index] ?? mine;
    if (mine !== theirs) return mine < theirs;
  }
  return false;
}

/**
 * The node that comes first, for both strategies behind which section 2 itself ranks ("a node never heard from … ranks
 * last", "nodes under a condition are … ranked behind"); `candidates` must not be empty. */
export function choose(state: ModelState, candidates: readonly ModelNode[], wish: Wish, nowMs: number): ModelNode {
  const keyOf = (node: ModelNode): (number | string)[] =>
    state.config.strategy.trim().toLowerCase() === "round_robin"
      ? [keepsHealthy(node) === null ? 1 : 0, isUnderPressure(state, node) ? 1 : 0, node.chosenAt, node.nodeId]
      : leastLoadedKey(state, node, wish, nowMs);
  return candidates.reduce((best, node) => (precedes(keyOf(node), keyOf(best)) ? node : best));
}
