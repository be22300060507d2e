/**
 * Which nodes may take a request, in the order of the rules: lifecycle, manual isolation, pressure, limits, exclusions of
 * the request, capacity. One pure function, which names the rule that failed: the scan, the reasons of a refusal, the
 * late confirm and the node views all ask it.
 */
import { CONDITIONS, type Condition } from "../../messages/nodes.ts";
import type { HintKind } from "../../messages/placement.ts";
import type { PlacementConfig } from "./config.ts";
import { METRIC_OF } from "./nodes/conditions.ts";
import { type Hearing, isFresh, isNeverHeard } from "./nodes/lifecycle.ts";
import { exceededLimit, type LimitName } from "./nodes/limits.ts";
import { leadingPart, type Node } from "./nodes/node.ts";

/** What a request asks of a node. */
export interface Demand {
  readonly creates: boolean;
  /** Null: unknown, or not asked for. */
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number | null;
  readonly managed: boolean;
  /** Null: none. */
  readonly excludeNodeIds: ReadonlySet<string> | null;
}

/** What every request asks for that creates nothing and excludes nobody. */
export const HINTLESS: Demand = {
  creates: false,
  cpuMillicores: null,
  memoryBytes: null,
  managed: true,
  excludeNodeIds: null,
};

/** Demand of a request; nothing but a direction where it creates nothing. */
export function demandOf(request: {
  readonly hint: HintKind;
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number | null;
  readonly managed: boolean;
  readonly excludeNodeIds: readonly string[];
}): Demand {
  const creates = request.hint !== "none";
  if (!creates && request.excludeNodeIds.length === 0) return HINTLESS;
  return {
    creates,
    cpuMillicores: creates ? request.cpuMillicores : null,
    memoryBytes: creates ? request.memoryBytes : null,
    managed: request.managed,
    excludeNodeIds: request.excludeNodeIds.length === 0 ? null : new Set(request.excludeNodeIds),
  };
}

/** A dimension that does not fit; `in flight` where it would, were it not for reservations in flight. */
export type MisfitReason =
  | "insufficient cpu"
  | "insufficient memory"
  | "insufficient cpu in flight"
  | "insufficient memory in flight";

/** The closed list of why a node is no candidate. */
export type Reason =
  | "awaited"
  | "unhealthy"
  | "lingering"
  | "no endpoint"
  | "ledger"
  | "cordoned"
  | Condition
  | `limit ${LimitName}`
  | "too many reservations"
  | "excluded"
  | MisfitReason;

/** What decides beside node and request. */
export interface Rules {
  readonly config: PlacementConfig;
  readonly nowMs: number;
  readonly hearing: Hearing;
  /** Whether any limit is set: most fleets set none, and then none is looked at. */
  readonly limited: boolean;
}

/** The first rule that drops the node; null when it is a candidate. */
export function whyNot(node: Node, demand: Demand, rules: Rules): Reason | null {
  return (
    outByLifecycle(node, demand, rules) ??
    (node.cordon === null ? null : "cordoned") ??
    (node.conditions.size === 0 ? null : excludingCondition(node, rules.config)) ??
    outByLimit(node, demand, rules) ??
    (demand.excludeNodeIds?.has(node.nodeId) ? "excluded" : null) ??
    (demand.creates ? misfit(node, demand, rules.config) : null)
  );
}

function outByLifecycle(node: Node, demand: Demand, rules: Rules): Reason | null {
  if (node.unregistered !== null) return "unhealthy";
  if (node.awaited) return "awaited";
  if (isNeverHeard(node)) {
    // No report has come yet, and the operator wants to see one first.
    if (rules.config.unknownNodes === "never") return "awaited";
  } else if (!isFresh(leadingPart(node), rules.hearing)) {
    return "unhealthy";
  } else if (!node.ledger && node.snapshot?.status === "LINGERING") {
    return "lingering";
  }
  if (node.endpoint === null && !node.ledger) return "no endpoint";
  if (node.ledger && demand.creates && !demand.managed) return "ledger";
  return null;
}

function excludingCondition(node: Node, config: PlacementConfig): Condition | null {
  for (const condition of CONDITIONS) {
    if (node.conditions.has(condition) && config.pressure[METRIC_OF[condition]].action === "exclude") return condition;
  }
  return null;
}

function outByLimit(node: Node, demand: Demand, rules: Rules): Reason | null {
  if (rules.limited) {
    const name = exceededLimit(node, rules.config.nodeResourceLimit, demand);
    if (name !== null) return `limit ${name}`;
  }
  const { pending, confirmed } = node.account.inFlight;
  return demand.creates && pending + confirmed >= rules.config.livePerNodeMax ? "too many reservations" : null;
}

/** Promises on a node in one dimension: allocated, paused by its weight, and in flight. */
export function projectedCpu(node: Node, config: PlacementConfig): number {
  const { figures, account } = node;
  const reported = figures.allocatedCpuMillicores + figures.pausedCpuMillicores * config.pausedWeight.cpu;
  return reported + account.inFlight.cpuMillicores;
}

export function projectedMemory(node: Node, config: PlacementConfig): number {
  const { figures, account } = node;
  const reported = figures.allocatedMemoryBytes + figures.pausedMemoryBytes * config.pausedWeight.memory;
  return reported + account.inFlight.memoryBytes;
}

/**
 * A whole amount times a ratio that somebody wrote as a decimal: 100 000 × 1.15 is 115 000, where doubles give a little
 * less and would keep out a core that fits. A product is within one rounding of what was meant.
 */
export function timesDecimal(amount: number, ratio: number): number {
  if (ratio === 1) return amount;
  const product = amount * ratio;
  const whole = Math.round(product);
  return Math.abs(product - whole) <= product * Number.EPSILON ? whole : product;
}

/** What may be promised; null where the capacity was never known. */
export function promisableCpu(node: Node, config: PlacementConfig): number | null {
  const capacity = node.figures.cpuCapacityMillicores;
  return capacity === null ? null : timesDecimal(capacity, config.overcommit.cpu);
}

export function promisableMemory(node: Node, config: PlacementConfig): number | null {
  const capacity = node.figures.memoryCapacityBytes;
  return capacity === null ? null : timesDecimal(capacity, config.overcommit.memory);
}

/** The dimension in which a creation does not fit the node's capacity; null when it fits. */
export function misfit(
  node: Node,
  demand: Pick<Demand, "cpuMillicores" | "memoryBytes">,
  config: PlacementConfig,
): MisfitReason | null {
  const { inFlight } = node.account;
  const cpu = projectedCpu(node, config);
  const cpuPromisable = promisableCpu(node, config);
  if (overflows(cpu, demand.cpuMillicores, cpuPromisable)) {
    const fitsOtherwise = !overflows(cpu - inFlight.cpuMillicores, demand.cpuMillicores, cpuPromisable);
    return fitsOtherwise ? "insufficient cpu in flight" : "insufficient cpu";
  }
  const memory = projectedMemory(node, config);
  const memoryPromisable = promisableMemory(node, config);
  if (overflows(memory, demand.memoryBytes, memoryPromisable)) {
    const fitsOtherwise = !overflows(memory - inFlight.memoryBytes, demand.memoryBytes, memoryPromisable);
    return fitsOtherwise ? "insufficient memory in flight" : "insufficient memory";
  }
  return null;
}

/** An unknown amount is at least something: it needs room, however little. */
function overflows(projected: number, asked: number | null, promisable: number | null): boolean {
  if (promisable === null) return false;
  return asked === null ? projected >= promisable : projected + asked > promisable;
}
