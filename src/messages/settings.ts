import { z } from "zod";
import { DURATION_FORM, formatDuration, parseDuration } from "./duration.ts";

/** The schemas of single settings: each takes the text of a flag or the value of a file. */

/** A duration between two bounds, as milliseconds. */
export function durationBetween(leastMs: number, mostMs: number): z.ZodType<number, unknown> {
  return z.unknown().transform((given, context) => {
    const ms = typeof given === "string" ? parseDuration(given) : null;
    if (ms === null) return refuse(context, `${show(given)} is not ${DURATION_FORM}`);
    if (ms < leastMs || ms > mostMs) {
      return refuse(context, `${show(given)} is not between ${formatDuration(leastMs)} and ${formatDuration(mostMs)}`);
    }
    return ms;
  });
}

const DECIMAL = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i;

/** A finite number of at least `least`. */
export function numberFrom(least: number): z.ZodType<number, unknown> {
  return z.unknown().transform((given, context) => {
    const number = typeof given === "string" && DECIMAL.test(given) ? Number(given) : given;
    if (typeof number !== "number" || !Number.isFinite(number) || number < least) {
      return refuse(context, `${show(given)} is not a number of at least ${least}`);
    }
    return number;
  });
}

/** One of a closed list of words. */
export function oneOf<const Word extends string>(words: readonly Word[]): z.ZodType<Word, unknown> {
  return z.unknown().transform((given, context) => {
    const word = words.find((each) => each === given);
    return word ?? refuse(context, `${show(given)} is not one of ${words.join(", ")}`);
  });
}

/** A text that is not empty and that a path or a header can carry. */
export function textNamed(what: string): z.ZodType<string, unknown> {
  return z.unknown().transform((given, context) => {
    if (typeof given !== "string") return refuse(context, `${show(given)} is not ${what}`);
    // `--socket --check` would otherwise take the next flag for its value.
    if (given.startsWith("--"))
      return refuse(context, `${show(given)} is a flag, not ${what}; write ./${given} if it is`);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    if (given === "" || /[\u0000-\u001f\u007f]/.test(given)) return refuse(context, `${show(given)} is not ${what}`);
    return given;
  });
}

/** On or off: a flag without a value is on; a variable says it in a word. */
export const switchSchema: z.ZodType<boolean, unknown> = z.unknown().transform((given, context) => {
  if (given === true || given === "true" || given === "1") return true;
  if (given === false || given === "false" || given === "0") return false;
  return refuse(context, `${show(given)} is neither true nor false`);
});

/** The base URL of an HTTP server, without a slash at its end. */
export const httpUrlSchema: z.ZodType<string, unknown> = textNamed("a URL").transform((text, context) => {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "" || url.username !== "") {
    return refuse(context, `${show(text)} is not a URL such as http://scheduler.example:7070`);
  }
  return url.href.replace(/\/+$/, "");
});

/** 1 to 256 printable bytes. */
export const nodeIdSchema: z.ZodType<string, unknown> = z.unknown().transform((given, context) => {
  if (typeof given === "string" && /^[\x21-\x7e]{1,256}$/.test(given)) return given;
  return refuse(context, `${show(given)} is not a node id: 1 to 256 printable ASCII characters without blanks`);
});

/** What a heartbeat takes as the endpoint of a node. */
export const endpointSchema: z.ZodType<string, unknown> = z.unknown().transform((given, context) => {
  if (typeof given === "string" && /^[\x21-\x7e]{1,256}$/.test(given)) return given;
  return refuse(context, `${show(given)} is not an endpoint such as http://10.0.0.7:8000`);
});

/** Permissions of a file, as three octal digits with or without a zero before them. */
export const fileModeSchema: z.ZodType<number, unknown> = z.unknown().transform((given, context) => {
  if (typeof given === "string" && /^0?[0-7]{3}$/.test(given)) return Number.parseInt(given, 8);
  return refuse(context, `${show(given)} is not a mode in octal, such as "0660"`);
});

/** A path below each cgroup mount, without its leading slash; empty is refused like `..`. */
export const sandboxCgroupSchema: z.ZodType<string, unknown> = textNamed("a cgroup path").transform((path, context) => {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes(".."))
    return refuse(context, `${show(path)} holds "..": name the cgroup from the mount point down`);
  if (parts.length === 0) return refuse(context, `${show(path)} names the root; leave the setting out instead`);
  return parts.join("/");
});

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export const LOG_FORMATS = ["auto", "json", "pretty"] as const;

/** Refuses a value: `message` completes "--flag: …" and says how to mend it. */
export function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: "custom", message });
  return z.NEVER;
}

/** A value as an error quotes it, cut so that the error stays one line. */
export function show(given: unknown): string {
  if (given === undefined) return "nothing";
  // JSON would write the numbers of TOML that it does not have (inf, nan) as null.
  const text = typeof given === "number" ? String(given) : (JSON.stringify(given) ?? String(given));
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}
