import { PlacementError } from "../client/errors.ts";
import { type ApiCommandOptions, type CallEndpoint, runApiCommand } from "./api-client.ts";

export interface UnregisterWish {
  readonly nodeId: string;
  /** Null: the one that the scheduler knows. */
  readonly instanceId: string | null;
}

/** Unregisters a node. Returns the exit code. */
export function unregister(options: ApiCommandOptions, { nodeId, instanceId }: UnregisterWish): Promise<number> {
  return runApiCommand(options, async (call) => {
    const instance = instanceId ?? (await presentInstance(call, nodeId));
    await call("unregister", { params: { node_id: nodeId }, query: { service_instance_id: instance } });
    return { answer: {}, page: `${nodeId} is unregistered` };
  });
}

async function presentInstance(call: CallEndpoint, nodeId: string): Promise<string> {
  const { node } = await call("getNode", { params: { node_id: nodeId } });
  if (node.service_instance_id !== null) return node.service_instance_id;
  throw new PlacementError({
    code: "not_found",
    message: `${nodeId} has not reported, so there is nothing to unregister`,
  });
}
