import type { Command } from "commander";
import { apiCommand, apiOptions } from "./api-client-settings.ts";
import type { Finish } from "./finish.ts";

export function cancelCommand(finish: Finish): Command {
  return apiCommand("cancel", "Give back the room of a reservation whose sandbox was not created.")
    .argument("<TOKEN|ID>", "the reservation's token, or its id")
    .option("--reason <REASON>", "why; refused and failed count towards the node's demotion")
    .action(async (token: string, flags: Record<string, unknown>) => {
      const { showMove } = await import("./reservations-moves.ts");
      const body = flags.reason === undefined ? {} : { reason: flags.reason };
      finish(await showMove(apiOptions(flags), { move: "cancel", token, body }));
    });
}

export function renewCommand(finish: Finish): Command {
  return apiCommand("renew", "Begin the lease of a reservation anew, because the create still runs.")
    .argument("<TOKEN|ID>", "the reservation's token, or its id")
    .action(async (token: string, flags: Record<string, unknown>) => {
      const { showMove } = await import("./reservations-moves.ts");
      finish(await showMove(apiOptions(flags), { move: "renew", token, body: {} }));
    });
}
