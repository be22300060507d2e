import { Command } from "commander";
import { durationBetween } from "../messages/settings.ts";
import { SOCKET_SETTING } from "./daemon-settings.ts";
import type { Finish } from "./finish.ts";
import { addFlags, resolveSettings, type Setting } from "./options.ts";
import { showResource } from "./resource.ts";

const RESOURCE_SETTINGS = { socket: SOCKET_SETTING } as const;

const WATCH_SETTING = {
  watchMs: {
    key: "watch",
    help: "",
    schema: durationBetween(100, 300_000).nullable().default(null),
  } satisfies Setting<number | null>,
} as const;

export function resourceCommand(finish: Finish): Command {
  const command = new Command("resource").description("Show what this node's daemon reports.");
  addFlags(command, RESOURCE_SETTINGS);
  return command
    .option("--json", "print the answer as it came")
    .option("--watch [DURATION]", "show it again at each interval (5s unless given) until interrupted")
    .action(async (flags: Record<string, unknown>) => {
      const { socket } = resolveSettings(RESOURCE_SETTINGS, { flags, environment: process.env, file: null });
      const watch = { watch: flags.watch === true ? "5s" : flags.watch };
      const { watchMs } = resolveSettings(WATCH_SETTING, { flags: watch, environment: {}, file: null });
      finish(await showResource({ socket, json: flags.json === true, watchMs }));
    });
}
