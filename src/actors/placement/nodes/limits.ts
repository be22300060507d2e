/**
 * `node_resource_limit`: maxima that hold after a creation, whatever happens between two reports, because reservations
 * in flight and the creation itself count.
 */
import type { NodeResourceLimit } from "../config.ts";
import { cpuUsedPercent, memoryUsedPercent } from "./figures.ts";
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

export function hasLimits(limit: NodeResourceLimit): boolean {
  return Object.values(limit).some((maximum) => maximum !== null);
}

/** One maximum against one figure. */
interface Bound {
  /** Null: unset. */
  readonly maximum: number | null;
  /** Reported and in flight; null: nobody reported it. */
  readonly figure: number | null;
  /** What the creation adds; null: an unknown amount. */
  readonly added: number | null;
  /** What 100 % is, where the maximum is a percentage; null: nobody reported it. */
  readonly hundredPercent?: number | null;
}

function isOut(bound: Bound, creates: boolean): boolean {
  const { maximum, figure, added, hundredPercent } = bound;
  if (maximum === null) return false;
  if (figure === null || hundredPercent === null) return creates;
  const inUnit = (amount: number): number => (hundredPercent === undefined ? amount : (amount * 100) / hundredPercent);
  if (!creates) return inUnit(figure) > maximum;
  if (maximum === 0) return true;
  return added === null ? inUnit(figure) >= maximum : inUnit(figure + added) > maximum;
}

/** The first limit that keeps the request out; null when none does. */
export function exceededLimit(node: Node, limit: NodeResourceLimit, addition: Addition): LimitName | null {
  for (const [name, bound] of boundsOf(node, limit, addition)) {
    if (isOut(bound, addition.creates)) return name;
  }
  return null;
}

function boundsOf(node: Node, limit: NodeResourceLimit, addition: Addition): readonly (readonly [LimitName, Bound])[] {
  const { figures } = node;
  const { inFlight } = node.account;
  // On a ledger node the scheduler's ledger is itself the count and the allocation.
  const counted = figures.counted || node.ledger;
  const orUnknown = (figure: number): number | null => (counted ? figure : null);
  const startingCount = figures.starting + inFlight.chargedPending;
  const thereCount = figures.running + startingCount + inFlight.chargedConfirmed;
  const cpu = figures.allocatedCpuMillicores + inFlight.cpuMillicores;
  const memory = figures.allocatedMemoryBytes + inFlight.memoryBytes;
  const { cpuMillicores, memoryBytes } = addition;
  const one = addition.creates ? 1 : 0;
  return [
    ["max_sandbox_count", { maximum: limit.maxSandboxCount, figure: orUnknown(thereCount), added: one }],
    [
      "max_sandbox_starting_count",
      { maximum: limit.maxSandboxStartingCount, figure: orUnknown(startingCount), added: one },
    ],
    ["max_cpu_used_percent", { maximum: limit.maxCpuUsedPercent, figure: cpuUsedPercent(figures), added: 0 }],
    [
      "max_cpu_allocated_percent",
      {
        maximum: limit.maxCpuAllocatedPercent,
        figure: orUnknown(cpu),
        added: cpuMillicores,
        hundredPercent: figures.cpuCapacityMillicores,
      },
    ],
    ["max_memory_used_percent", { maximum: limit.maxMemoryUsedPercent, figure: memoryUsedPercent(figures), added: 0 }],
    [
      "max_memory_allocated_percent",
      {
        maximum: limit.maxMemoryAllocatedPercent,
        figure: orUnknown(memory),
        added: memoryBytes,
        hundredPercent: figures.memoryCapacityBytes,
      },
    ],
    [
      "max_sandbox_count_including_paused",
      { maximum: limit.maxSandboxCountIncludingPaused, figure: orUnknown(thereCount + figures.paused), added: one },
    ],
    [
      "max_allocated_cpu_including_paused",
      {
        maximum: limit.maxAllocatedCpuMillicoresIncludingPaused,
        figure: orUnknown(cpu + figures.pausedCpuMillicores),
        added: cpuMillicores,
      },
    ],
    [
      "max_allocated_memory_bytes_including_paused",
      {
        maximum: limit.maxAllocatedMemoryBytesIncludingPaused,
        figure: orUnknown(memory + figures.pausedMemoryBytes),
        added: memoryBytes,
      },
    ],
  ];
}
