/** Whether a node lives, judged at each decision from the arrival of its reports; nothing here is stored. */
import type { NodeStatus } from "../../../messages/nodes.ts";
import { leadingPart, type Node } from "./node.ts";
import type { Part } from "./parts.ts";

/** The moment of a decision, and what silence is measured by. */
export interface Hearing {
  readonly nowMs: number;
  readonly reportTtlMs: number;
  /** Silence counts from here at the earliest: the end of the newest stall of this process. */
  readonly silenceFloorMs: number;
}

/** A part that was heard, and has not been silent for longer than `reportTtlMs`. */
export function isFresh(part: Part, hearing: Hearing): boolean {
  if (part.lastArrivalMs === null) return false;
  return hearing.nowMs - Math.max(part.lastArrivalMs, hearing.silenceFloorMs) <= hearing.reportTtlMs;
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
