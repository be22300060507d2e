/** placement.md, section 2: why a node is out, under the first rule that drops it; null: it is a candidate. */
import { CONDITIONS, type Condition } from "../../../../src/messages/nodes.ts";
import type { Schedule } from "../../../../src/messages/placement.ts";
import type { Metric } from "../../../../src/messages/sampling.ts";
import {
  type Amounts,
  allocatedOf,
  capacityOf,
  countOf,
  type Demand,
  DIMENSIONS,
  inFlightOf,
  isFresh,
  keepsHealthy,
  type ModelNode,
  type ModelState,
  pausedOf,
  projectedOf,
} from "./facts.ts";

/** What section 2 reads of a request. */
export interface Wish {
  readonly creates: boolean;
  readonly managed: boolean;
  readonly demand: Demand;
  readonly excludeNodeIds: readonly string[];
}

export function wishOf(message: Schedule): Wish {
  const creates = message.hint !== "none";
  const demand = creates ? { cpu: message.cpuMillicores, memory: message.memoryBytes } : { cpu: null, memory: null };
  return { creates, managed: message.managed, demand, excludeNodeIds: message.excludeNodeIds };
}

export const METRIC_OF: Readonly<Record<Condition, Metric>> = {
  CPU_PRESSURE: "cpu",
  MEMORY_PRESSURE: "memory",
  PID_PRESSURE: "pid",
  FD_PRESSURE: "fd",
  DISK_PRESSURE: "disk",
};

export function whyOut(state: ModelState, node: ModelNode, wish: Wish, nowMs: number): string | null {
  return (
    outByLifecycle(state, node, wish, nowMs) ??
    (node.cordoned ? "cordoned" : null) ??
    outByPressure(state, node) ??
    outByLimit(state, node, wish) ??
    (wish.excludeNodeIds.includes(node.nodeId) ? "excluded" : null) ??
    (wish.creates ? outByCapacity(state, node, wish.demand) : null)
  );
}

function outByLifecycle(state: ModelState, node: ModelNode, wish: Wish, nowMs: number): string | null {
  // "UNHEALTHY …, LINGERING and unregistered nodes are out": the closed list has no reason of its own for the last.
  if (node.unregistered !== null) return "unhealthy";
  const part = keepsHealthy(node);
  if (part === null && node.daemon !== null) return "unhealthy";
  if (part === null && state.config.unknownNodes === "never") return "unhealthy";
  if (part !== null && !isFresh(state, part, nowMs)) return "unhealthy";
  if (node.snapshot?.status === "LINGERING") return "lingering";
  if (node.endpoint === null && !node.ledger) return "no endpoint";
  if (wish.creates && !wish.managed && node.ledger) return "ledger";
  return null;
}

function outByPressure(state: ModelState, node: ModelNode): string | null {
  const excludes = (condition: Condition): boolean =>
    node.conditions.has(condition) && state.config.pressure[METRIC_OF[condition]].action === "exclude";
  return CONDITIONS.find(excludes) ?? null;
}

/** A figure and its maximum; a null figure was not reported by anybody. */
interface Limit {
  readonly name: string;
  readonly max: number | null;
  readonly figure: number | null;
  /** What this request adds: "reported + in flight + this one". */
  readonly adds: number;
}

function outByLimit(state: ModelState, node: ModelNode, wish: Wish): string | null {
  for (const { name, max, figure, adds } of limitsOf(state, node, wish)) {
    if (max === null) continue;
    if (figure === null) {
      // "A set limit that needs a figure nobody reported excludes the node from creations."
      if (wish.creates) return `limit ${name}`;
      continue;
    }
    if (figure + (wish.creates ? adds : 0) > max) return `limit ${name}`;
  }
  return null;
}

function limitsOf(state: ModelState, node: ModelNode, wish: Wish): Limit[] {
  const limit = state.config.nodeResourceLimit;
  const { snapshot } = node;
  const pending = countOf(state, node, "pending");
  const confirmed = countOf(state, node, "confirmed");
  const inFlight = inFlightOf(state, node);
  const capacity = capacityOf(node);
  // "Sandboxes there = reported running + reported starting + pending + confirmed."
  const there =
    snapshot === null && !node.ledger
      ? null
      : (snapshot?.sandboxCount ?? 0) + (snapshot?.sandboxStartingCount ?? 0) + pending + confirmed;
  const starting = snapshot === null && !node.ledger ? null : (snapshot?.sandboxStartingCount ?? 0) + pending;
  const plus = (left: number | null, right: number): number | null => (left === null ? null : left + right);
  const percent = (amount: number, whole: number | null): number | null => {
    if (whole === null || there === null) return null;
    // An exact comparison of `amount × 100 > maximum × whole` is what the sum in percent stands for.
    return (amount * 100) / whole;
  };
  const allocated = allocatedOf(node);
  const paused = pausedOf(node);
  const of = (amounts: Amounts, dimension: "cpu" | "memory"): number => amounts[dimension] + inFlight[dimension];
  const cpu = wish.demand.cpu ?? 0;
  const memory = wish.demand.memory ?? 0;
  return [
    { name: "max_sandbox_count", max: limit.maxSandboxCount, figure: there, adds: 1 },
    { name: "max_sandbox_starting_count", max: limit.maxSandboxStartingCount, figure: starting, adds: 1 },
    {
      name: "max_cpu_used_percent",
      max: limit.maxCpuUsedPercent,
      figure: usedPercent(node, "cpu"),
      adds: 0,
    },
    {
      name: "max_cpu_allocated_percent",
      max: limit.maxCpuAllocatedPercent,
      figure: percent(of(allocated, "cpu") + (wish.creates ? cpu : 0), capacity.cpu),
      adds: 0,
    },
    {
      name: "max_memory_used_percent",
      max: limit.maxMemoryUsedPercent,
      figure: usedPercent(node, "memory"),
      adds: 0,
    },
    {
      name: "max_memory_allocated_percent",
      max: limit.maxMemoryAllocatedPercent,
      figure: percent(of(allocated, "memory") + (wish.creates ? memory : 0), capacity.memory),
      adds: 0,
    },
    {
      name: "max_sandbox_count_including_paused",
      max: limit.maxSandboxCountIncludingPaused,
      figure: plus(there, snapshot?.pausedSandboxCount ?? 0),
      adds: 1,
    },
    {
      name: "max_allocated_cpu_including_paused",
      max: limit.maxAllocatedCpuMillicoresIncludingPaused,
      figure: there === null ? null : of(allocated, "cpu") + paused.cpu,
      adds: cpu,
    },
    {
      name: "max_allocated_memory_bytes_including_paused",
      max: limit.maxAllocatedMemoryBytesIncludingPaused,
      figure: there === null ? null : of(allocated, "memory") + paused.memory,
      adds: memory,
    },
  ];
}

/**
 * The runtime's figure where it has ever given the capacity ("'not reported' applies … to measured figures whose capacity
 * is unknown", http-api.md), else what the daemon measured.
 */
function usedPercent(node: ModelNode, dimension: "cpu" | "memory"): number | null {
  const whole = node.snapshotCapacity[dimension];
  if (node.snapshot !== null && whole !== null) {
    return dimension === "cpu" ? node.snapshot.cpuPercent : (node.snapshot.memoryUsedBytes * 100) / whole;
  }
  const ratio = node.utilization?.[dimension] ?? null;
  return ratio === null ? null : ratio * 100;
}

/** Step 6, also the test of a late confirm. Null: it fits. */
export function outByCapacity(state: ModelState, node: ModelNode, demand: Demand): string | null {
  const capacity = capacityOf(node);
  const projected = projectedOf(state, node);
  const inFlight = inFlightOf(state, node);
  for (const dimension of DIMENSIONS) {
    const whole = capacity[dimension];
    // "a dimension never known does not exclude."
    if (whole === null) continue;
    const room = whole * state.config.overcommit[dimension];
    const wanted = demand[dimension];
    const isOut = (sum: number): boolean => (wanted === null ? sum >= room : sum + wanted > room);
    if (!isOut(projected[dimension])) continue;
    return `insufficient ${dimension}${isOut(projected[dimension] - inFlight[dimension]) ? "" : " in flight"}`;
  }
  return null;
}
