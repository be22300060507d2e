/**
 * The node on which the request weighs least, by promises over capacity, with what is in flight. The order is total and
 * exact: two pressures are equal only if their double-precision quotients are. An index must give the very same node.
 */
import { type Demand, projectedCpu, projectedMemory, promisableCpu, promisableMemory } from "../candidates.ts";
import type { PlacementConfig } from "../config.ts";
import type { Node } from "../nodes/node.ts";
import { compareTurns, isUnderDemotingCondition } from "./order.ts";
import type { RankingContext, Strategy } from "./strategy.ts";

/** The first of those in which no node is usable. */
const UNUSABLE_TIER = 2;

type Moment = Pick<RankingContext, "config" | "nowMs">;

export const leastLoaded: Strategy = {
  name: "least_loaded",
  choose(candidates, demand, context) {
    let best: Node | undefined;
    let bestTier = 0;
    let bestPressure = 0;
    for (const node of candidates) {
      const tier = tierOf(node, demand, context);
      const pressure = comparablePressureOf(node, demand, context.config);
      const order = best === undefined ? -1 : tier - bestTier || pressure - bestPressure || compareCounts(node, best);
      if (order < 0) {
        best = node;
        bestTier = tier;
        bestPressure = pressure;
      }
    }
    return best;
  },
  tierOf,
  // Unusable nodes have no pressure that could be compared.
  order: { weighs: (tier) => tier < UNUSABLE_TIER, byLoad: true },
};

function tierOf(node: Node, demand: Demand, { config, nowMs }: Moment): number {
  return (isUsable(node, demand) ? 0 : UNUSABLE_TIER) + (isDemoted(node, config, nowMs) ? 1 : 0);
}

/** The pressure of an unusable node leaves out what matters to the request; only its counts can be compared. */
function comparablePressureOf(node: Node, demand: Demand, config: PlacementConfig): number {
  return isUsable(node, demand) ? (pressureOf(node, demand, config) ?? 0) : 0;
}

/** At least one capacity is known, and that of every requested dimension. */
export function isUsable(node: Node, demand: Demand): boolean {
  const { cpuCapacityMillicores, memoryCapacityBytes } = node.figures;
  if (cpuCapacityMillicores === null && memoryCapacityBytes === null) return false;
  if (demand.cpuMillicores !== null && cpuCapacityMillicores === null) return false;
  return demand.memoryBytes === null || memoryCapacityBytes !== null;
}

/** Ranked behind: it fails what it is given, or is under a condition that says so. */
export function isDemoted(node: Node, config: PlacementConfig, nowMs: number): boolean {
  return nowMs < node.demotedUntilMs || isUnderDemotingCondition(node, config);
}

/**
 * The greater of the known quotients of promises, the request's own included, over what may be promised; null when no
 * capacity is known.
 */
export function pressureOf(
  node: Node,
  demand: Pick<Demand, "cpuMillicores" | "memoryBytes">,
  config: PlacementConfig,
): number | null {
  const cpuPromisable = promisableCpu(node, config);
  const memoryPromisable = promisableMemory(node, config);
  const cpu =
    cpuPromisable === null ? null : (projectedCpu(node, config) + (demand.cpuMillicores ?? 0)) / cpuPromisable;
  if (memoryPromisable === null) return cpu;
  const memory = (projectedMemory(node, config) + (demand.memoryBytes ?? 0)) / memoryPromisable;
  return cpu === null || memory > cpu ? memory : cpu;
}

/** Fewer starting, then running, then paused sandboxes; then turns, so that no two nodes are equal. */
function compareCounts(left: Node, right: Node): number {
  return (
    startingOf(left) - startingOf(right) ||
    runningOf(left) - runningOf(right) ||
    left.figures.paused - right.figures.paused ||
    compareTurns(left, right)
  );
}

/** Pending ones count as starting. */
export function startingOf(node: Node): number {
  return node.figures.starting + node.account.inFlight.chargedPending;
}

/** Confirmed ones count as running. */
export function runningOf(node: Node): number {
  return node.figures.running + node.account.inFlight.chargedConfirmed;
}
