import { Command } from "commander";
import { DAEMON_SETTINGS } from "./daemon-settings.ts";
import type { Finish } from "./finish.ts";
import { addFlags, resolveSettings, variableOf } from "./options.ts";
import { resolveSchedulerSettings, SCHEDULER_SETTINGS } from "./scheduler-settings.ts";
import { UP_FLAGS } from "./up-settings.ts";

const MORE_HELP = `
Every other setting of the scheduler and the daemon is taken from its variable, such as ${variableOf(SCHEDULER_SETTINGS.reportTtlMs)}.

Examples:
  $ npx evenkeel up
  $ npx evenkeel up --http 127.0.0.1:8080 --interval 1s
`;

export function upCommand(finish: Finish): Command {
  const command = new Command("up").description("Run a scheduler and this machine's daemon together, to try it out.");
  addFlags(command, UP_FLAGS);
  return command.addHelpText("after", MORE_HELP).action(async (flags: Record<string, unknown>) => {
    const given = { flags, environment: process.env, file: null };
    const scheduler = resolveSchedulerSettings(given);
    const daemon = resolveSettings(DAEMON_SETTINGS, given);
    const { runUp } = await import("./up.ts");
    finish(await runUp({ scheduler, daemon }));
  });
}
