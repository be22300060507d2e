/** How evenly a fleet is loaded, from what really is on its nodes. */
import type { Amounts, PlayedNode } from "../actors/load/played-node.ts";

export interface Peak {
  /** Allocation ÷ capacity; beyond 1 the node was promised more than it has. */
  readonly pressure: number;
  readonly nodeId: string;
  readonly dimension: "cpu" | "memory";
}

/** The higher pressure: an earlier peak, or the node as it is now. Null: nothing was ever there. */
export function higherPeak(peak: Peak | null, node: PlayedNode): Peak | null {
  let highest = peak;
  for (const dimension of ["cpu", "memory"] as const) {
    const pressure = share(node, dimension);
    if (pressure > (highest?.pressure ?? 0)) highest = { pressure, nodeId: node.terms.nodeId, dimension };
  }
  return highest;
}

function share({ allocated, terms }: PlayedNode, dimension: "cpu" | "memory"): number {
  const key: keyof Amounts = dimension === "cpu" ? "cpuMillicores" : "memoryBytes";
  return allocated[key] / terms.capacity[key];
}

export interface Imbalance {
  /** Of the CPUs allocated on each node. On nodes of different sizes an even load is not 0 here. */
  readonly allocation: number;
  /** Of allocated ÷ capacity, in CPU: 0 is an even load on any fleet. */
  readonly pressure: number;
}

export function imbalanceOf(nodes: readonly PlayedNode[]): Imbalance {
  return {
    allocation: deviationOverMean(nodes.map((node) => node.allocated.cpuMillicores)),
    pressure: deviationOverMean(nodes.map((node) => share(node, "cpu"))),
  };
}

/** Standard deviation of the whole population over its mean; 0 when the mean is. */
export function deviationOverMean(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length === 0 || mean === 0) return 0;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return Math.sqrt(variance) / mean;
}
