import { Command } from "commander";
import type { Finish } from "./finish.ts";
import { GATEWAY_SETTINGS } from "./gateway-settings.ts";
import { addFlags, configurationFileOf, flagOf, resolveSettings, variableOf } from "./options.ts";

const MORE_HELP = `
POST /sandboxes and /sandboxes-cold are scheduled, sent to a node, and their reservations closed by what became of them.
Requests for a sandbox go to its node; all others go to any node.

Every flag has an environment variable and a key in the configuration file (TOML or JSON):
  ${flagOf(GATEWAY_SETTINGS.attemptsMax)}  =  ${variableOf(GATEWAY_SETTINGS.attemptsMax)}  =  ${GATEWAY_SETTINGS.attemptsMax.key}
A flag wins over a variable, a variable over the file.

Examples:
  $ npx evenkeel gateway
  $ npx evenkeel gateway --listen 0.0.0.0:8080 --scheduler http://scheduler.example:7070 --on-expired destroy
`;

export function gatewayCommand(finish: Finish): Command {
  const command = new Command("gateway")
    .description("Forward creates to nodes and keep their reservations right, whatever becomes of them.")
    .option("--config <FILE>", "configuration file, TOML or JSON");
  addFlags(command, GATEWAY_SETTINGS);
  return command.addHelpText("after", MORE_HELP).action(async (flags: Record<string, unknown>) => {
    const file = configurationFileOf(flags, process.env);
    const settings = resolveSettings(GATEWAY_SETTINGS, { flags, environment: process.env, file });
    // Loaded only when it runs: the other commands need none of it.
    const { runGateway } = await import("./gateway.ts");
    finish(await runGateway(settings));
  });
}
