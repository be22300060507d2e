/** Shapes of requests: what is asked for, but for the exclusions, which are each request's own. */
import type { Demand } from "../candidates.ts";
import type { Node } from "../nodes/node.ts";

/** Equal but for the exclusions. */
export function sameShape(left: Demand, right: Demand): boolean {
  return (
    left.cpuMillicores === right.cpuMillicores &&
    left.memoryBytes === right.memoryBytes &&
    left.creates === right.creates &&
    left.managed === right.managed
  );
}

/** The nodes that the request excludes, of those that are there; `nodes` are all, by id. */
export function excludedBy({ excludeNodeIds }: Demand, nodes: ReadonlyMap<string, Node>): Node[] {
  if (excludeNodeIds === null) return [];
  return [...excludeNodeIds].map((nodeId) => nodes.get(nodeId)).filter((node) => node !== undefined);
}

/** Whether it asks for no amount, so that all requests of its kind are of one shape. */
export function isOneShape({ cpuMillicores, memoryBytes }: Demand): boolean {
  return cpuMillicores === null && memoryBytes === null;
}

/** The least that a request of the same kind may ask for. */
export function leastOfKind({ creates, managed, cpuMillicores, memoryBytes }: Demand): Demand {
  return {
    creates,
    managed,
    cpuMillicores: cpuMillicores === null ? null : 0,
    memoryBytes: memoryBytes === null ? null : 0,
    excludeNodeIds: null,
  };
}
