import type { Command } from "commander";
import { apiCommand, apiOptions } from "./api-client-settings.ts";
import type { Finish } from "./finish.ts";
import { LOAD_SETTINGS } from "./load-settings.ts";
import { addFlags, resolveSettings, UsageError } from "./options.ts";

const MORE_HELP = `
The nodes are there for the run only, and other callers' requests may be sent to them meanwhile: use a scheduler that
nobody else uses. Exits with 1 when the audit fails: what clients were told is not what the scheduler charges.

Where the scheduler asks for tokens, --token-file holds an operator's, which places, closes and audits. An operator may
not say where nodes are, so each node has a token that names it, in --node-tokens: lines "node NAME TOKEN", as in the
scheduler's own --tokens file, which can be given where it holds tokens and no hashes. They are read once, at the start.

With --chaos it starts a scheduler of its own, on a state directory that goes away with it, and kills it (SIGKILL) at
random moments; the run ends with the last kill, and --scheduler, tokens and --requests do not matter. After every
restart, and at the end, whatever a client was told must hold.

Examples:
  $ npx evenkeel load
  $ npx evenkeel load --requests 20000 --concurrency 500 --confirm 1 --cancel 1 --abandon 0
  $ npx evenkeel load --scheduler https://127.0.0.1:7070 --ca ca.pem --token-file operator.token --node-tokens tokens
  $ npx evenkeel load --chaos 10 --confirm 2 --cancel 7 --cpu 1 --memory 1GiB --heartbeat-interval 200ms
`;

export function loadCommand(finish: Finish): Command {
  const command = apiCommand("load", "Fire concurrent requests at a running scheduler, and audit its ledger.");
  addFlags(command, LOAD_SETTINGS);
  return command.addHelpText("after", MORE_HELP).action(async (flags: Record<string, unknown>) => {
    // Of the environment only how the scheduler is reached: a driver with hidden inputs would not repeat itself.
    const settings = resolveSettings(LOAD_SETTINGS, { flags, environment: {}, file: null });
    if (settings.confirm + settings.cancel + settings.abandon === 0) {
      throw new UsageError("--confirm, --cancel, --abandon: all are 0; one of them has to be more");
    }
    const options = apiOptions(flags);
    const { runLoad } = await import("./load.ts");
    finish(await runLoad(settings, options));
  });
}
