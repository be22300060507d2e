/** What time alone changes: conditions nobody observes, nodes nobody hears, memories nobody needs. */
import type { Core } from "./core.ts";
import { forgetThePast } from "./ledger/retention.ts";
import { isFresh, silentSince } from "./nodes/lifecycle.ts";
import { leadingPart, type Node } from "./nodes/node.ts";
import type { Part } from "./nodes/parts.ts";
import type { Turn } from "./turn.ts";

// One pass over the fleet a second: silence counts in tens of seconds, and a pass over 100 000 nodes takes milliseconds.
export const SWEEP_EVERY_MS = 1_000;

/** What a tick brings that no request asked for. */
export function passTime(core: Core, turn: Turn): void {
  const { nowMs } = turn.now;
  if (nowMs >= core.guardEndMs) core.guarded.clear();
  if (nowMs - core.lastSweepMs < SWEEP_EVERY_MS) return;
  core.lastSweepMs = nowMs;
  sweep(core, turn);
}

function sweep(core: Core, turn: Turn): void {
  for (const node of [...core.fleet.nodes.values()]) {
    if (node.conditions.size > 0) endUnobserved(core, turn, node);
    forgetIfLongGone(core, turn, node);
  }
  forgetThePast(core, turn);
}

function endUnobserved(core: Core, turn: Turn, node: Node): void {
  const { config } = core;
  const { nowMs } = turn.now;
  if (silentSinceMs(node, node.daemon) + config.conditionTtlMs > nowMs) return;
  if (!isFresh(node.runtime, { nowMs, reportTtlMs: config.reportTtlMs })) return;
  for (const condition of [...node.conditions.keys()]) {
    turn.emit({ type: "condition_left", nodeId: node.nodeId, condition, cause: "unobserved", value: null });
  }
}

/**
 * Its reservations end when the part that would speak for them has been silent for too long; the node itself is dropped
 * when nothing of it speaks. A configured node stays: the configuration says that it exists.
 */
function forgetIfLongGone(core: Core, turn: Turn, node: Node): void {
  const { nowMs } = turn.now;
  const beforeMs = nowMs - core.config.nodeForgetTtlMs;
  const unregisteredMs = node.unregistered?.atMs ?? Number.POSITIVE_INFINITY;
  if (Math.min(unregisteredMs, silentSinceMs(node, leadingPart(node))) > beforeMs) return;
  for (const reservation of [...node.account.pending, ...node.account.confirmed]) {
    turn.emit({ type: "released", id: reservation.terms.id, reason: "node_gone" });
  }
  const daemonSpeaks = silentSinceMs(node, node.daemon) > beforeMs;
  if (node.configured !== null || daemonSpeaks) return;
  turn.route({ type: "node_gone", nodeId: node.nodeId });
  core.guarded.delete(node.nodeId);
  turn.emit({ type: "node_dropped", nodeId: node.nodeId });
}

function silentSinceMs(node: Node, part: Part): number {
  return silentSince(part) ?? node.knownSinceMs;
}
