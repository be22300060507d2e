/**
 * Nodes that fail what they are given are ranked behind the others for a while, so that one which fails every create at
 * once does not swallow the fleet's requests. They are never excluded.
 */
import type { PlacementConfig } from "../config.ts";
import type { Node } from "./node.ts";

/** Counts a failed outcome; true when it demotes a node that was not demoted. */
export function noteFailure(node: Node, config: PlacementConfig, nowMs: number): boolean {
  const { failures, withinMs, forMs } = config.demotion;
  node.failedAtMs.push(nowMs);
  if (node.failedAtMs.length > failures) node.failedAtMs.shift();
  const [oldestMs] = node.failedAtMs;
  if (oldestMs === undefined || node.failedAtMs.length < failures || nowMs - oldestMs > withinMs) return false;
  const demotes = nowMs >= node.demotedUntilMs;
  node.demotedUntilMs = nowMs + forMs;
  return demotes;
}

/** A confirm, by token or by inference, clears it. */
export function noteSuccess(node: Node): void {
  node.failedAtMs.length = 0;
  node.demotedUntilMs = Number.NEGATIVE_INFINITY;
}
