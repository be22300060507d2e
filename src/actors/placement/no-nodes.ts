/** Why no node could take a request, in the words of an operator. Worked out only when there is no candidate. */
import { type Refusal, refuse } from "../../messages/errors.ts";
import { type Demand, type Reason, type Rules, whyNot } from "./candidates.ts";
import type { Node } from "./nodes/node.ts";

const GIB = 2 ** 30;

/** Nodes that one rule drops. */
export interface Alike {
  readonly count: number;
  /** What paused sandboxes hold there of the lacking dimension, and its capacity; in millicores or bytes, else 0. */
  readonly paused: number;
  readonly capacity: number;
}

/** Each node once, under the first rule that drops it. Candidates are in none. */
export type Dropped = ReadonlyMap<Reason, Alike>;

export function droppedOf(nodes: Iterable<Node>, demand: Demand, rules: Rules): Dropped {
  const dropped = new Map<Reason, Alike>();
  for (const node of nodes) {
    const reason = whyNot(node, demand, rules);
    if (reason === null) continue;
    dropped.set(reason, withOne(dropped.get(reason) ?? NONE, node, reason));
  }
  return dropped;
}

function withOne({ count, paused, capacity }: Alike, node: Node, reason: Reason): Alike {
  const held = heldOf(node, reason);
  return { count: count + 1, paused: paused + held.paused, capacity: capacity + held.capacity };
}

const NONE: Alike = { count: 0, paused: 0, capacity: 0 };

/** Says how many nodes were dropped for what, the most first, and what paused sandboxes hold of what is lacking. */
export function refuseForLackOfNodes(dropped: Dropped): Refusal {
  const sorted = [...dropped].sort(
    ([left, { count: many }], [right, { count: more }]) => more - many || (left < right ? -1 : 1),
  );
  const held = sorted.flatMap(([reason, alike]) => wordsOfHeld(reason, alike));
  const words = sorted.map(([reason, { count }]) => `${count} ${reason}`).join(", ");
  const why = sorted.length === 0 ? "no nodes are known" : [words, ...held].join("; ");
  return refuse("no_nodes", `no nodes available: ${why}`, {
    reasons: Object.fromEntries(sorted.map(([reason, { count }]) => [reason, count])),
    nodes: sorted.reduce((sum, [, { count }]) => sum + count, 0),
    ...(held.length > 0 ? { paused: held } : {}),
  });
}

/** What paused sandboxes hold on one node of the lacking dimension, and its capacity; 0 where none is lacking. */
export function heldOf({ figures }: Node, reason: Reason): Pick<Alike, "paused" | "capacity"> {
  if (isOfCpu(reason)) return { paused: figures.pausedCpuMillicores, capacity: figures.cpuCapacityMillicores ?? 0 };
  if (isOfMemory(reason)) return { paused: figures.pausedMemoryBytes, capacity: figures.memoryCapacityBytes ?? 0 };
  return NONE;
}

/** What paused sandboxes hold of the lacking dimension, as `insufficient cpu: 58 of 64 paused`; empty when nothing. */
export function heldByPaused(nodes: readonly Node[], reason: Reason): string[] {
  return wordsOfHeld(
    reason,
    nodes.reduce((alike, node) => withOne(alike, node, reason), NONE),
  );
}

function wordsOfHeld(reason: Reason, { paused, capacity }: Alike): string[] {
  if (paused === 0) return [];
  const unit = isOfCpu(reason) ? 1000 : GIB;
  return [`${reason}: ${rounded(paused / unit)} of ${rounded(capacity / unit)}${isOfCpu(reason) ? "" : " GiB"} paused`];
}

function isOfCpu(reason: Reason): boolean {
  return reason === "insufficient cpu" || reason === "insufficient cpu in flight";
}

function isOfMemory(reason: Reason): boolean {
  return reason === "insufficient memory" || reason === "insufficient memory in flight";
}

/** To a thousandth: a millicore, or about a MiB. */
function rounded(amount: number): number {
  return Math.round(amount * 1000) / 1000;
}
