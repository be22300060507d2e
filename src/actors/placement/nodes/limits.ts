/**
 * `node_resource_limit`: maxima that hold after a creation, whatever happens between two reports, because reservations
 * in flight and the creation itself count.
 */
import type { NodeResourceLimit } from "../config.ts";
import { cpuUsedPercent, type Figures, memoryUsedPercent } from "./figures.ts";
import type { Node } from "./node.ts";

/** Names as in the configuration file, which is how refusals name them. */
export type LimitName =
  | "max_sandbox_count"
  | "max_sandbox_starting_count"
  | "max_cpu_used_percent"
  | "max_cpu_allocated_percent"
  | "max_memory_used_percent"
  | "max_memory_allocated_percent"
  | "max_sandbox_count_including_paused"
  | "max_allocated_cpu_including_paused"
  | "max_allocated_memory_bytes_including_paused";

/** What the request would add. Null: an unknown amount of at least something. */
export interface Addition {
  readonly creates: boolean;
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number | null;
}

/** One maximum, and the figure that is held against it. */
interface Limit {
  readonly name: LimitName;
  readonly key: keyof NodeResourceLimit;
  /** Reported and in flight; null: nobody reported it. */
  readonly figureOf: (node: Node) => number | null;
  /** What a creation adds to it. */
  readonly adds: "one" | "nothing" | "cpu" | "memory";
  /** What 100 % is, where the maximum is a percentage of something; null: nobody reported it. */
  readonly hundredPercentOf?: (figures: Figures) => number | null;
}

/** In the order in which refusals name them. */
const LIMITS: readonly Limit[] = [
  {
    name: "max_sandbox_count",
    key: "maxSandboxCount",
    figureOf: (node) => (isCounted(node) ? thereCount(node) : null),
    adds: "one",
  },
  {
    name: "max_sandbox_starting_count",
    key: "maxSandboxStartingCount",
    figureOf: (node) => (isCounted(node) ? startingCount(node) : null),
    adds: "one",
  },
  {
    name: "max_cpu_used_percent",
    key: "maxCpuUsedPercent",
    figureOf: ({ figures }) => cpuUsedPercent(figures),
    adds: "nothing",
  },
  {
    name: "max_cpu_allocated_percent",
    key: "maxCpuAllocatedPercent",
    figureOf: (node) => (isCounted(node) ? allocatedCpu(node) : null),
    adds: "cpu",
    hundredPercentOf: ({ cpuCapacityMillicores }) => cpuCapacityMillicores,
  },
  {
    name: "max_memory_used_percent",
    key: "maxMemoryUsedPercent",
    figureOf: ({ figures }) => memoryUsedPercent(figures),
    adds: "nothing",
  },
  {
    name: "max_memory_allocated_percent",
    key: "maxMemoryAllocatedPercent",
    figureOf: (node) => (isCounted(node) ? allocatedMemory(node) : null),
    adds: "memory",
    hundredPercentOf: ({ memoryCapacityBytes }) => memoryCapacityBytes,
  },
  {
    name: "max_sandbox_count_including_paused",
    key: "maxSandboxCountIncludingPaused",
    figureOf: (node) => (isCounted(node) ? thereCount(node) + node.figures.paused : null),
    adds: "one",
  },
  {
    name: "max_allocated_cpu_including_paused",
    key: "maxAllocatedCpuMillicoresIncludingPaused",
    figureOf: (node) => (isCounted(node) ? allocatedCpu(node) + node.figures.pausedCpuMillicores : null),
    adds: "cpu",
  },
  {
    name: "max_allocated_memory_bytes_including_paused",
    key: "maxAllocatedMemoryBytesIncludingPaused",
    figureOf: (node) => (isCounted(node) ? allocatedMemory(node) + node.figures.pausedMemoryBytes : null),
    adds: "memory",
  },
];

/** Part of a maximum, beyond the few roundings that hold an amount against it, each within one part in 2^53. */
const ROUNDING = 2 ** -48;

export function hasLimits(limit: NodeResourceLimit): boolean {
  return LIMITS.some(({ key }) => limit[key] !== null);
}

/** The first limit that keeps the request out; null when none does. */
export function exceededLimit(node: Node, maxima: NodeResourceLimit, addition: Addition): LimitName | null {
  for (const limit of LIMITS) {
    const maximum = maxima[limit.key];
    if (maximum === null) continue;
    const added = addedTo(limit, addition);
    const figure = figureWith(added ?? 0, limit, node);
    if (figure === null) {
      if (addition.creates) return limit.name;
    } else if (figure > maximum || (addition.creates && (maximum === 0 || (added === null && figure === maximum)))) {
      return limit.name;
    }
  }
  return null;
}

/**
 * No creation that asks for more CPU, in millicores, is within the limits; infinite where none limits it. May say a
 * little too much, since percentages round, never too little.
 */
export function cpuRoom(node: Node, maxima: NodeResourceLimit): number {
  return roomFor("cpu", node, maxima);
}

/** The same for memory, in bytes. */
export function memoryRoom(node: Node, maxima: NodeResourceLimit): number {
  return roomFor("memory", node, maxima);
}

/** What a creation adds; null: an unknown amount, which is at least something. Other requests add nothing. */
function addedTo({ adds }: Limit, { creates, cpuMillicores, memoryBytes }: Addition): number | null {
  if (!creates || adds === "nothing") return 0;
  if (adds === "one") return 1;
  return adds === "cpu" ? cpuMillicores : memoryBytes;
}

/** In the unit of the maximum; null: nobody reported what it takes. */
function figureWith(added: number, limit: Limit, node: Node): number | null {
  const figure = limit.figureOf(node);
  if (figure === null) return null;
  if (limit.hundredPercentOf === undefined) return figure + added;
  const hundredPercent = limit.hundredPercentOf(node.figures);
  return hundredPercent === null ? null : ((figure + added) * 100) / hundredPercent;
}

function roomFor(dimension: "cpu" | "memory", node: Node, maxima: NodeResourceLimit): number {
  let room = Number.POSITIVE_INFINITY;
  for (const limit of LIMITS) {
    const maximum = maxima[limit.key];
    if (maximum === null || limit.adds !== dimension) continue;
    const figure = limit.figureOf(node);
    const hundredPercent = limit.hundredPercentOf === undefined ? 100 : limit.hundredPercentOf(node.figures);
    if (figure === null || hundredPercent === null) return 0;
    const most = (maximum * hundredPercent) / 100;
    room = Math.min(room, most - figure + most * ROUNDING);
  }
  return room;
}

function isCounted(node: Node): boolean {
  // On a ledger node the scheduler's ledger is itself the count and the allocation.
  return node.figures.counted || node.ledger;
}

function startingCount({ figures, account }: Node): number {
  return figures.starting + account.inFlight.chargedPending;
}

function thereCount(node: Node): number {
  return node.figures.running + startingCount(node) + node.account.inFlight.chargedConfirmed;
}

function allocatedCpu({ figures, account }: Node): number {
  return figures.allocatedCpuMillicores + account.inFlight.cpuMillicores;
}

function allocatedMemory({ figures, account }: Node): number {
  return figures.allocatedMemoryBytes + account.inFlight.memoryBytes;
}
