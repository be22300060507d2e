import { Command } from "commander";
import { checkSampling } from "./check-sampling.ts";
import { DAEMON_SETTINGS } from "./daemon-settings.ts";
import type { Finish } from "./finish.ts";
import { addFlags, configurationFileOf, flagOf, resolveSettings, variableOf } from "./options.ts";
import { preferSmallHeap } from "./small-heap.ts";

const MORE_HELP = `
Every flag has an environment variable and a key in the configuration file (TOML or JSON):
  ${flagOf(DAEMON_SETTINGS.nodeId)}  =  ${variableOf(DAEMON_SETTINGS.nodeId)}  =  ${DAEMON_SETTINGS.nodeId.key}
A flag wins over a variable, a variable over the file.

Examples:
  $ npx evenkeel daemon
  $ npx evenkeel daemon --filestore /var/lib/sandboxes --filestore-overcommit-ratio 1.5
  $ npx evenkeel daemon --sandbox-cgroup /sandboxes.slice --check
`;

export function daemonCommand(finish: Finish): Command {
  const command = new Command("daemon")
    .description("Sample this machine's kernel and serve GET /resource on a Unix socket.")
    .option("--config <FILE>", "configuration file, TOML or JSON")
    .option("--check", "validate the configuration, show what would be sampled from where, and exit");
  addFlags(command, DAEMON_SETTINGS);
  return command.addHelpText("after", MORE_HELP).action(async (flags: Record<string, unknown>) => {
    const file = configurationFileOf(flags, process.env);
    const settings = resolveSettings(DAEMON_SETTINGS, { flags, environment: process.env, file });
    if (flags.check === true) return finish(checkSampling(settings, process.stdout));
    preferSmallHeap();
    // Loaded only when it runs: the other commands need none of it.
    const { runDaemon } = await import("./daemon.ts");
    finish(await runDaemon(settings));
  });
}
