/** A runtime says goodbye. What runs on its node stays charged until somebody says otherwise. */
import type { Core } from "./core.ts";
import type { Turn } from "./events.ts";
import { isNeverHeard } from "./nodes/lifecycle.ts";
import { leadingPart } from "./nodes/node.ts";

/** `other_instance`: it was named by an instance that is not the present one, and nothing has changed. */
export function unregister(
  core: Core,
  turn: Turn,
  nodeId: string,
  serviceInstanceId: string,
): "unregistered" | "unknown" | "other_instance" {
  const node = core.fleet.nodes.get(nodeId);
  if (node === undefined || isNeverHeard(node)) return "unknown";
  // Unknown after a restart, until it reports: then any instance is taken at its word.
  const present = leadingPart(node).serviceInstanceId;
  if (present !== null && present !== serviceInstanceId) return "other_instance";
  if (node.unregistered !== null) return "unregistered";
  turn.emit({ type: "node_unregistered", nodeId, serviceInstanceId });
  node.awaited = false;
  core.guarded.delete(nodeId);
  turn.route({ type: "node_gone", nodeId });
  return "unregistered";
}
