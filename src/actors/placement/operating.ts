/** What is said about nodes: by operators, by gateways, and by a runtime that takes its leave. Each is idempotent. */
import { INSTANCE_MISMATCH, NODE_NOT_LISTED, refuse } from "../../messages/errors.ts";
import type { Condition, UnregisterNode } from "../../messages/nodes.ts";
import type { Done, RecordAssignment, Reply } from "../../messages/placement.ts";
import type { Core } from "./core.ts";
import { isNeverHeard } from "./nodes/lifecycle.ts";
import { leadingPart, type Node } from "./nodes/node.ts";
import type { Turn } from "./turn.ts";

export function cordon(turn: Turn, node: Node, reason: string | null): void {
  if (node.cordon !== null && node.cordon.reason === reason) return;
  // A configured node may not have been heard yet; the log must stand without the configuration it was written under.
  if (!node.journaled) turn.emit({ type: "node_registered", nodeId: node.nodeId, endpoint: null });
  turn.emit({ type: "cordoned", nodeId: node.nodeId, reason });
}

export function uncordon(turn: Turn, node: Node): void {
  if (node.cordon !== null) turn.emit({ type: "uncordoned", nodeId: node.nodeId });
}

export function clearCondition(turn: Turn, { nodeId, conditions }: Node, condition: Condition): void {
  if (!conditions.has(condition)) return;
  turn.emit({ type: "condition_left", nodeId, condition, cause: "cleared", value: null });
}

/** Routes only; the node must be known with that very endpoint. */
export function recordAssignment(core: Core, turn: Turn, message: RecordAssignment): Reply<Done> {
  const { sandboxId, nodeId, endpoint } = message;
  const node = core.fleet.nodes.get(nodeId);
  if (node === undefined || node.unregistered !== null || node.endpoint !== endpoint) {
    return { ok: false, refusal: refuse("invalid_argument", NODE_NOT_LISTED) };
  }
  turn.route({ type: "assigned", sandboxId, nodeId, source: "record" });
  return { ok: true, answer: {} };
}

/** A runtime says goodbye. What runs on its node stays charged until somebody says otherwise. */
export function unregister(core: Core, turn: Turn, { nodeId, serviceInstanceId }: UnregisterNode): Reply<Done> {
  const node = core.fleet.nodes.get(nodeId);
  if (node === undefined || isNeverHeard(node)) return { ok: true, answer: {} };
  // Unknown after a restart, until it reports: then any instance is taken at its word.
  const present = leadingPart(node).serviceInstanceId;
  if (present !== null && present !== serviceInstanceId) {
    return { ok: false, refusal: refuse("conflict", INSTANCE_MISMATCH) };
  }
  if (node.unregistered !== null) return { ok: true, answer: {} };
  turn.emit({ type: "node_unregistered", nodeId, serviceInstanceId });
  core.slots.touch(node.account);
  node.awaited = false;
  core.guarded.delete(nodeId);
  turn.route({ type: "node_gone", nodeId });
  return { ok: true, answer: {} };
}
