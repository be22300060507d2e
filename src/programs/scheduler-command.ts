import { Command } from "commander";
import type { Finish } from "./finish.ts";
import { addFlags, configurationFileOf, flagOf, variableOf } from "./options.ts";
import { resolveSchedulerSettings, SCHEDULER_SETTINGS } from "./scheduler-settings.ts";

const MORE_HELP = `
Every flag has an environment variable and a key in the configuration file (TOML or JSON):
  ${flagOf(SCHEDULER_SETTINGS.reportTtlMs)}  =  ${variableOf(SCHEDULER_SETTINGS.reportTtlMs)}  =  ${SCHEDULER_SETTINGS.reportTtlMs.key}
A flag wins over a variable, a variable over the file. Only the file holds assumed_resources, overcommit, paused_weight,
node_resource_limit, pressure, pressure_action and nodes.

Examples:
  $ npx evenkeel scheduler
  $ npx evenkeel scheduler --strategy round_robin --placement-reservation-ttl 10m
  $ npx evenkeel scheduler --config scheduler.toml
`;

export function schedulerCommand(finish: Finish): Command {
  const command = new Command("scheduler")
    .description("Place sandboxes on nodes and keep the ledger of what is in flight; serves the HTTP API.")
    .option("--config <FILE>", "configuration file, TOML or JSON");
  addFlags(command, SCHEDULER_SETTINGS);
  return command.addHelpText("after", MORE_HELP).action(async (flags: Record<string, unknown>) => {
    const file = configurationFileOf(flags, process.env);
    const settings = resolveSchedulerSettings({ flags, environment: process.env, file });
    // Loaded only when it runs: the other commands need none of it.
    const { runScheduler } = await import("./scheduler.ts");
    finish(await runScheduler(settings));
  });
}
