import type { Message } from "../kernel/message.ts";
import type { Reference } from "../kernel/reference.ts";
import type { DirectoryReference } from "./client.ts";

/** A node has unregistered or is forgotten, and what is kept of it goes. */
export interface NodeGone extends Message {
  readonly type: "node_gone";
  readonly nodeId: string;
}

/** The directory as the placement actor sees it; whatever is said there of nodes that go is told to the others too. */
export function withDepartures(
  directory: DirectoryReference,
  listeners: readonly Pick<Reference<NodeGone>, "tell">[],
): DirectoryReference {
  return {
    ...directory,
    tell(message, lane) {
      if (message.type === "routes") {
        for (const change of message.changes) {
          if (change.type !== "node_gone") continue;
          // Refused by a full mailbox it is lost, and look-ups leave out a silent node all the same.
          for (const listener of listeners) listener.tell({ type: "node_gone", nodeId: change.nodeId }, "urgent");
        }
      }
      return directory.tell(message, lane);
    },
  };
}
