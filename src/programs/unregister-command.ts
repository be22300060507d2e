import type { Command } from "commander";
import { apiCommand, apiOptions } from "./api-client-settings.ts";
import type { Finish } from "./finish.ts";

export function unregisterCommand(finish: Finish): Command {
  return apiCommand("unregister", "Say goodbye for a node; it comes back when it reports again.")
    .argument("<NODE>", "the node's id")
    .option("--instance <ID>", "the service instance that leaves; without it the one that reports now")
    .action(async (nodeId: string, flags: Record<string, unknown>) => {
      const { unregister } = await import("./unregister.ts");
      const instanceId = (flags.instance as string | undefined) ?? null;
      finish(await unregister(apiOptions(flags), { nodeId, instanceId }));
    });
}
