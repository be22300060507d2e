import type { Command } from "commander";
import { apiCommand, apiOptions } from "./api-client-settings.ts";
import type { Finish } from "./finish.ts";

export function nodesCommand(finish: Finish): Command {
  return apiCommand("nodes", "List the nodes that the scheduler knows, and how loaded they are.").action(
    async (flags: Record<string, unknown>) => {
      const { showNodes } = await import("./nodes.ts");
      finish(await showNodes(apiOptions(flags)));
    },
  );
}
