import { refuse } from "../../messages/errors.ts";
import type { NodeAddress } from "../../messages/nodes.ts";
import type { Reply } from "../../messages/placement.ts";
import type { Directory } from "../directory/client.ts";
import { type PlacementClient, refusalOf } from "../placement/client.ts";

export interface ApiActors {
  readonly placement: PlacementClient;
  readonly directory: Directory;
}

/** Far above any wait of a healthy scheduler. */
export const DIRECTORY_DEADLINE_MS = 10_000;

const NO_ASSIGNMENT: Reply<never> = {
  ok: false,
  refusal: refuse("not_found", "sandbox assignment not found", {}),
};

/** The node of a sandbox. Its address is asked of the placement actor, which knows whether the node still is one. */
export async function lookUpSandbox(
  { placement, directory }: ApiActors,
  sandboxId: string,
): Promise<Reply<NodeAddress>> {
  const found = await directory.ask({ type: "lookup", sandboxId }, { deadlineMs: DIRECTORY_DEADLINE_MS });
  if (!found.ok) return { ok: false, refusal: refusalOf(found.error) };
  const { nodeId } = found.value;
  if (nodeId === null) return NO_ASSIGNMENT;
  const reply = await placement.ask({ type: "get_node", nodeId });
  if (!reply.ok) return reply.refusal.code === "not_found" ? NO_ASSIGNMENT : reply;
  const { endpoint } = reply.answer.node;
  return { ok: true, answer: { nodeId, endpoint } };
}
