/** Whether a node lives, judged at each decision from the arrival of its reports; nothing here is stored. */
import type { NodeStatus } from "../../../messages/nodes.ts";
import { leadingPart, type Node } from "./node.ts";
import type { Part } from "./parts.ts";

/** The moment of a decision, and what silence is measured by. */
export interface Hearing {
  readonly nowMs: number;
  readonly reportTtlMs: number;
}

/** Since when the part is silent; null: it never spoke. */
export function silentSince({ lastArrivalMs, stallEndMs }: Part): number | null {
  return lastArrivalMs === null ? null : Math.max(lastArrivalMs, stallEndMs);
}

/**
 * A stall of this process, from the last message before it to the first one after: reports that came meanwhile may have
 * been lost. It excuses the silence of parts that spoke when it began; who was silent before is no less so.
 */
export function excuseSilence(node: Node, stall: Hearing, endMs: number): void {
  for (const part of [node.runtime, node.daemon]) if (isFresh(part, stall)) part.stallEndMs = endMs;
}

/** A part that was heard, and has not been silent for longer than `reportTtlMs`. */
export function isFresh(part: Part, hearing: Hearing): boolean {
  const sinceMs = silentSince(part);
  return sinceMs !== null && hearing.nowMs - sinceMs <= hearing.reportTtlMs;
}

/** No part of a configured node has ever spoken: its capacity is unknown, and it may be tried last. */
export function isNeverHeard(node: Node): boolean {
  return node.runtime.lastArrivalMs === null && node.daemon.lastArrivalMs === null && !node.awaited;
}

/** As shown. A node never heard from is CONNECTING; an awaited or unregistered one is UNHEALTHY. */
export function statusOf(node: Node, hearing: Hearing): NodeStatus {
  if (node.awaited || node.unregistered !== null) return "UNHEALTHY";
  if (isNeverHeard(node)) return "CONNECTING";
  if (!isFresh(leadingPart(node), hearing)) return "UNHEALTHY";
  if (node.ledger) return "READY";
  return node.snapshot?.status ?? "CONNECTING";
}
