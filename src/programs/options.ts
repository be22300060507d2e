import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { type Command, Option } from "commander";
import { parse as parseToml } from "smol-toml";
import type { z } from "zod";

/**
 * One setting of a program: a flag, an environment variable and a key of the configuration file at once, so that none
 * of them can be forgotten or mean something else.
 */
export interface Setting<T> {
  /** The key of the file; the flag is `--` and the same in kebab case, the variable `EVENKEEL_` and it in capitals. */
  readonly key: string;
  /** What stands for the value in the help, such as `DIR`. Absent: a switch that takes none. */
  readonly value?: string;
  readonly help: string;
  /** Accepts the text of a flag or variable, and the value of a file. Its message says how to mend a bad one. */
  readonly schema: z.ZodType<T>;
  /** Left out of the short help. */
  readonly hidden?: boolean;
  /** What holds when nobody sets it, as the help shows it. */
  readonly shownDefault?: string;
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;
export type Values<S extends Settings> = { readonly [Name in keyof S]: S[Name] extends Setting<infer T> ? T : never };

/** A wrong flag, variable or file: one line that names the field and the mend. The program exits with 2. */
export class UsageError extends Error {}

export const flagOf = (setting: Pick<Setting<unknown>, "key">): string => `--${setting.key.replaceAll("_", "-")}`;
export const variableOf = (setting: Pick<Setting<unknown>, "key">): string => `EVENKEEL_${setting.key.toUpperCase()}`;

/** Adds a flag for each setting to a command. */
export function addFlags(command: Command, settings: Settings): void {
  for (const setting of Object.values(settings)) {
    const { value, help, shownDefault, hidden } = setting;
    const option = new Option(
      value === undefined ? flagOf(setting) : `${flagOf(setting)} <${value}>`,
      shownDefault === undefined ? help : `${help} (default: ${shownDefault})`,
    );
    command.addOption(hidden === true ? option.hideHelp() : option);
  }
}

export interface Given {
  /** As commander collected them: by camel-case name. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: NodeJS.ProcessEnv;
  /** Path of a configuration file; null for none. */
  readonly file: string | null;
  /** Keys of the file that are not settings, and are read elsewhere. */
  readonly nestedKeys?: readonly string[];
  /** What the file says, where it has been read already. */
  readonly content?: Readonly<Record<string, unknown>>;
}

/**
 * The values that hold: a flag wins over a variable, a variable over the file, the file over the schema's default.
 * Throws `UsageError` for the first bad one.
 */
export function resolveSettings<S extends Settings>(settings: S, given: Given): Values<S> {
  const file = given.content ?? (given.file === null ? {} : readConfigurationFile(given.file));
  refuseUnknownKeys(settings, given, file);
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(settings)) {
    const { named, raw } = findRaw(setting, given, file);
    const parsed = setting.schema.safeParse(raw);
    if (!parsed.success) throw new UsageError(`${named}: ${parsed.error.issues[0]?.message ?? "is not valid"}`);
    values[name] = parsed.data;
  }
  return values as Values<S>;
}

/** The file that `--config` or `EVENKEEL_CONFIG` names; null where neither does. An empty variable counts as unset. */
export function configurationFileOf(flags: Readonly<Record<string, unknown>>, environment: NodeJS.ProcessEnv) {
  const named = flags.config ?? environment.EVENKEEL_CONFIG;
  return typeof named === "string" && named !== "" ? named : null;
}

/** The keys and values of a TOML or JSON file. Throws `UsageError`. */
export function readConfigurationFile(path: string): Readonly<Record<string, unknown>> {
  let text: string;
  try {
    // Some editors put a byte order mark first, which neither format allows.
    text = readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  } catch (thrown) {
    throw new UsageError(`--config: ${path} cannot be read: ${(thrown as Error).message}`);
  }
  const json = extname(path) === ".json" || (extname(path) !== ".toml" && text.trimStart().startsWith("{"));
  let parsed: unknown;
  try {
    parsed = json ? JSON.parse(text) : parseToml(text);
  } catch (thrown) {
    const [firstLine] = (thrown as Error).message.split("\n");
    throw new UsageError(`--config: ${path} is not ${json ? "JSON" : "TOML"}: ${firstLine}`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw new UsageError(`--config: ${path} must hold an object of settings`);
  }
  return parsed as Record<string, unknown>;
}

interface RawValue {
  /** How the error names it: by the place that it came from. */
  readonly named: string;
  readonly raw: unknown;
}

function findRaw(setting: Setting<unknown>, { flags, environment, file }: Given, content: object): RawValue {
  const flag = flagIn(flags, setting.key);
  if (flag !== undefined) return { named: flagOf(setting), raw: flag };
  const variable = environment[variableOf(setting)];
  // An empty variable is how shells and container files leave one unset.
  if (variable !== undefined && variable !== "") return { named: variableOf(setting), raw: variable };
  const value = (content as Record<string, unknown>)[setting.key];
  if (value !== undefined) return { named: `${setting.key} in ${file}`, raw: value };
  return { named: flagOf(setting), raw: undefined };
}

/** Commander takes `--no-x` for the opposite of an `x` that is on unless it is given. */
function flagIn(flags: Given["flags"], key: string): unknown {
  if (!key.startsWith("no_")) return flags[camelCase(key)];
  return flags[camelCase(key.slice("no_".length))] === false ? true : undefined;
}

function refuseUnknownKeys(settings: Settings, { file, nestedKeys = [] }: Given, content: object): void {
  const known = new Set([...Object.values(settings).map(({ key }) => key), ...nestedKeys]);
  for (const key of Object.keys(content)) {
    if (!known.has(key)) throw new UsageError(`${key} in ${file}: no such setting; there are ${[...known].join(", ")}`);
  }
}

function camelCase(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
