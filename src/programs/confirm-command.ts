import type { Command } from "commander";
import { apiCommand, apiOptions } from "./api-client-settings.ts";
import type { Finish } from "./finish.ts";

export function confirmCommand(finish: Finish): Command {
  return apiCommand("confirm", "Say that the sandbox of a reservation exists.")
    .argument("<TOKEN>", "the reservation's token, or its id")
    .argument("<SANDBOX_ID>", "the sandbox")
    .option("--force", "charge it past the node's capacity when the lease is over and it no longer fits")
    .action(async (token: string, sandboxId: string, flags: Record<string, unknown>) => {
      const { showMove } = await import("./reservations-moves.ts");
      const body = { sandbox_id: sandboxId, ...(flags.force === true ? { force: true } : {}) };
      finish(await showMove(apiOptions(flags), { move: "confirm", token, body }));
    });
}
