import type { Command } from "commander";
import { apiCommand, apiOptions } from "./api-client-settings.ts";
import type { Finish } from "./finish.ts";

export function cordonCommand(finish: Finish): Command {
  return apiCommand("cordon", "Take a node out: nothing new is placed there, what runs stays.")
    .argument("<NODE>", "the node's id")
    .option("--reason <REASON>", "why, for whoever looks at it next")
    .action(async (nodeId: string, flags: Record<string, unknown>) => {
      const { runApiCommand } = await import("./api-client.ts");
      finish(
        await runApiCommand(apiOptions(flags), async (call) => {
          const body = flags.reason === undefined ? {} : { reason: flags.reason };
          const answer = await call("cordon", { params: { node_id: nodeId }, body });
          const { cordon_reason: reason } = answer.node;
          return { answer, page: `${nodeId} is cordoned${reason === null ? "" : `: ${reason}`}` };
        }),
      );
    });
}

export function uncordonCommand(finish: Finish): Command {
  return apiCommand("uncordon", "Undo a cordon.")
    .argument("<NODE>", "the node's id")
    .action(async (nodeId: string, flags: Record<string, unknown>) => {
      const { runApiCommand } = await import("./api-client.ts");
      finish(
        await runApiCommand(apiOptions(flags), async (call) => {
          const answer = await call("uncordon", { params: { node_id: nodeId } });
          const { schedulable, reasons } = answer.node;
          const still = schedulable ? "" : `, but not schedulable: ${reasons.join(", ")}`;
          return { answer, page: `${nodeId} is not cordoned${still}` };
        }),
      );
    });
}
