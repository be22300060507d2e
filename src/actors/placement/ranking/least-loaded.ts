/**
 * The node on which the request weighs least, by promises over capacity, with what is in flight. The order is total and
 * exact: two pressures are equal only if their double-precision quotients are. An index must give the very same node.
 */
import { type Demand, projectedCpu, projectedMemory, promisableCpu, promisableMemory } from "../candidates.ts";
import type { PlacementConfig } from "../config.ts";
import type { Node } from "../nodes/node.ts";
import { compareTurns, firstOf, isUnderDemotingCondition } from "./order.ts";
import type { Strategy } from "./strategy.ts";

export const leastLoaded: Strategy = {
  name: "least_loaded",
  choose: (candidates, demand, { config, nowMs }) =>
    firstOf(candidates, (left, right) => compareLoad(left, right, { demand, config, nowMs })),
};

interface Weighing {
  readonly demand: Demand;
  readonly config: PlacementConfig;
  readonly nowMs: number;
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

function compareLoad(left: Node, right: Node, weighing: Weighing): number {
  const { demand, config, nowMs } = weighing;
  const leftUsable = isUsable(left, demand);
  const rightUsable = isUsable(right, demand);
  if (leftUsable !== rightUsable) return leftUsable ? -1 : 1;
  const demoted = Number(isDemoted(left, config, nowMs)) - Number(isDemoted(right, config, nowMs));
  if (demoted !== 0) return demoted;
  // Pressures of unusable nodes leave out what matters to the request; only their counts can be compared.
  const lighter = leftUsable ? (pressureOf(left, demand, config) ?? 0) - (pressureOf(right, demand, config) ?? 0) : 0;
  return lighter || compareCounts(left, right) || compareTurns(left, right);
}

function compareCounts(left: Node, right: Node): number {
  return (
    startingOf(left) - startingOf(right) ||
    runningOf(left) - runningOf(right) ||
    left.figures.paused - right.figures.paused
  );
}

/** Pending ones count as starting. */
export function startingOf(node: Node): number {
  return node.figures.starting + node.account.inFlight.chargedPending;
}

function runningOf(node: Node): number {
  return node.figures.running + node.account.inFlight.chargedConfirmed;
}
