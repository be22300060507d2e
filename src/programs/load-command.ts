import type { Command } from "commander";
import { apiCommand, apiOptions } from "./api-client-settings.ts";
import type { Finish } from "./finish.ts";
import { LOAD_SETTINGS } from "./load-settings.ts";
import { addFlags, resolveSettings, UsageError } from "./options.ts";

const MORE_HELP = `
The nodes are there for the run only, and other callers' requests may be sent to them meanwhile: use a scheduler that
nobody else uses. Exits with 1 when the audit fails: what clients were told is not what the scheduler charges.

With --chaos it starts a scheduler of its own, on a state directory that goes away with it, and kills it (SIGKILL) at
random moments; the run ends with the last kill, and --scheduler and --requests do not matter. After every restart, and
at the end, whatever a client was told must hold.

Examples:
  $ npx evenkeel load
  $ npx evenkeel load --requests 20000 --concurrency 500 --confirm 1 --cancel 1 --abandon 0
  $ npx evenkeel load --chaos 10 --confirm 2 --cancel 7 --cpu 1 --memory 1GiB --heartbeat-interval 200ms
`;

export function loadCommand(finish: Finish): Command {
  const command = apiCommand("load", "Fire concurrent requests at a running scheduler, and audit its ledger.");
  addFlags(command, LOAD_SETTINGS);
  return command.addHelpText("after", MORE_HELP).action(async (flags: Record<string, unknown>) => {
    // Of the environment only the scheduler's address: a driver with hidden inputs would not repeat itself.
    const settings = resolveSettings(LOAD_SETTINGS, { flags, environment: {}, file: null });
    if (settings.confirm + settings.cancel + settings.abandon === 0) {
      throw new UsageError("--confirm, --cancel, --abandon: all are 0; one of them has to be more");
    }
    const options = apiOptions(flags);
    if (options.credentials.token() !== null || options.credentials.tls !== null) {
      throw new UsageError("--token-file, --ca: load plays nodes of its own, which takes a scheduler without tokens");
    }
    const { runLoad } = await import("./load.ts");
    finish(await runLoad(settings, options));
  });
}
