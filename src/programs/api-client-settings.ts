import { Command } from "commander";
import { httpUrlSchema } from "../messages/settings.ts";
import type { ApiCommandOptions } from "./api-client.ts";
import { CREDENTIAL_SETTINGS } from "./credential-settings.ts";
import { openCredentials } from "./credentials.ts";
import { addFlags, resolveSettings, type Setting } from "./options.ts";

/** Where `evenkeel up` and `evenkeel scheduler` listen unless told otherwise. */
export const USUAL_SCHEDULER_URL = "http://127.0.0.1:7070";

const SCHEDULER_SETTINGS = {
  url: {
    key: "scheduler",
    value: "URL",
    help: "scheduler to ask, also as EVENKEEL_SCHEDULER",
    shownDefault: USUAL_SCHEDULER_URL,
    schema: httpUrlSchema.default(USUAL_SCHEDULER_URL),
  } satisfies Setting<string>,
  ...CREDENTIAL_SETTINGS,
} as const;

/** A command that asks a scheduler: with `--scheduler` and `--json`. */
export function apiCommand(name: string, description: string): Command {
  const command = new Command(name).description(description);
  addFlags(command, SCHEDULER_SETTINGS);
  return command.option("--json", "print the scheduler's answer as JSON");
}

export function apiOptions(flags: Readonly<Record<string, unknown>>): ApiCommandOptions {
  const { url, ...settings } = resolveSettings(SCHEDULER_SETTINGS, { flags, environment: process.env, file: null });
  return {
    url,
    credentials: openCredentials(settings),
    json: flags.json === true,
    output: process.stdout,
    errors: process.stderr,
  };
}
