/** What the events of a runtime do. They are sent once and may be lost or late: nothing depends on one arriving. */
import type { SandboxEvent, SandboxEvents } from "../../messages/nodes.ts";
import type { Done, Reply } from "../../messages/placement.ts";
import type { Core } from "./core.ts";
import { sandboxDeleted } from "./ledger/closing.ts";
import { inferFromCreate } from "./ledger/create-events.ts";
import type { NamedSandbox } from "./ledger/ledger.ts";
import type { Node } from "./nodes/node.ts";
import type { Turn } from "./turn.ts";

export function takeSandboxEvents(core: Core, turn: Turn, message: SandboxEvents): Reply<Done> {
  const { nodeId, serviceInstanceId } = message;
  const node = core.fleet.nodes.get(nodeId);
  if (node === undefined || !isHeard(node, serviceInstanceId)) {
    turn.notice({ type: "report_ignored", nodeId, part: "events" });
    return { ok: true, answer: {} };
  }
  for (const event of message.events) takeEvent(core, turn, node, { event, serviceInstanceId });
  return { ok: true, answer: {} };
}

/** The present instance, or one that has not sent its first snapshot yet. */
function isHeard(node: Node, serviceInstanceId: string): boolean {
  return node.unregistered === null && !node.runtime.superseded.includes(serviceInstanceId);
}

/** An event that was overtaken by the one that ends its sandbox. Another node's end of that id is none of this one's. */
function isDeleted(named: NamedSandbox | undefined, { nodeId }: Node): boolean {
  return named?.how === "deleted" && (named.nodeId === null || named.nodeId === nodeId);
}

interface ArrivingEvent {
  readonly event: SandboxEvent;
  readonly serviceInstanceId: string;
}

function takeEvent(core: Core, turn: Turn, node: Node, { event, serviceInstanceId }: ArrivingEvent): void {
  const { sandboxId } = event;
  const { ledger } = core;
  switch (event.eventType) {
    case "CREATE":
      if (serviceInstanceId === node.runtime.serviceInstanceId) node.epoch.createSeen = true;
      else node.heraldedInstanceId = serviceInstanceId;
      if (isDeleted(ledger.named.get(sandboxId), node)) return;
      turn.route({ type: "assigned", sandboxId, nodeId: node.nodeId, source: "create" });
      inferFromCreate(core, turn, node, event);
      return;
    case "DELETE": {
      // The id of another node's sandbox: that node will say itself what became of it.
      const holder = ledger.holderOf(sandboxId);
      if (holder === undefined || holder.account === node.account)
        sandboxDeleted(core, turn, { sandboxId, nodeId: node.nodeId });
      return;
    }
    case "FORK":
      if (ledger.isKnown(sandboxId)) return;
      turn.emit({ type: "sandbox_named", sandboxId, how: "forked", nodeId: node.nodeId });
      return;
    case "PAUSE":
    case "RESUME":
      return;
    default:
      event.eventType satisfies never;
  }
}
