import type { Command } from "commander";
import { apiCommand, apiOptions } from "./api-client-settings.ts";
import type { Finish } from "./finish.ts";

export function releaseCommand(finish: Finish): Command {
  return apiCommand("release", "Say that a sandbox is gone, so that its room is free again.")
    .argument("<SANDBOX_ID>", "the sandbox")
    .action(async (sandboxId: string, flags: Record<string, unknown>) => {
      const { runApiCommand } = await import("./api-client.ts");
      finish(
        await runApiCommand(apiOptions(flags), async (call) => {
          await call("deleteSandbox", { params: { sandbox_id: sandboxId } });
          // The answer is the same for a sandbox that was never known, so that a repeat is no error.
          return { answer: {}, page: `nothing is reserved for ${sandboxId} any more, if anything was` };
        }),
      );
    });
}
