/** Numbers, names and times as they stand on the wire. */
import { z } from "zod";

/** Completes "`field` …": what the value has to be, which is also the mend. */
function due(what: string): (issue: { readonly input: unknown }) => string {
  return (issue) => (issue.input === undefined ? `is missing; it must be ${what}` : `must be ${what}`);
}

/** An integer within two bounds; never a fraction, a string, true or null. */
export function integerBetween(least: number, most: number) {
  const error = due(`an integer from ${least} to ${most}`);
  return z.int({ error }).min(least, { error }).max(most, { error });
}

/** A number within two bounds; never a string, true or null. */
export function numberBetween(least: number, most: number) {
  const error = due(`a number from ${least} to ${most}`);
  return z.number({ error }).min(least, { error }).max(most, { error });
}

export const uint32 = integerBetween(0, 2 ** 32 - 1);

/** A uint64 of the wire. JSON numbers are exact up to 2^53 − 1; what lies beyond cannot be an amount of anything here. */
export const uint64 = integerBetween(0, Number.MAX_SAFE_INTEGER);

const IDENTIFIER = "1 to 256 printable ASCII characters without blanks";

const IDENTIFIER_LENGTH_MAX = 256;
// Without a bound in it, which costs twice the time.
const PRINTABLE = /^[\x21-\x7e]+$/;

/** The name of a node, sandbox, instance or request. */
export const identifier = z
  .string({ error: due(IDENTIFIER) })
  .max(IDENTIFIER_LENGTH_MAX, { error: due(IDENTIFIER) })
  .regex(PRINTABLE, { error: due(IDENTIFIER) });

/**
 * `z.array(identifier)` in one pass: rosters are the bulk of what nodes send, and a schema of its own for each of their
 * names costs more than parsing them.
 */
export function identifiersUpTo(most: number, what: string): z.ZodType<readonly string[], readonly string[]> {
  const { $schema: _dialect, ...items } = z.toJSONSchema(identifier);
  return z
    .any()
    .superRefine((given: unknown, context) => {
      if (!Array.isArray(given)) context.addIssue({ code: "custom", message: "must be an array" });
      else if (given.length > most) context.addIssue({ code: "custom", message: `must list at most ${most} ${what}` });
      else {
        const wrong = given.findIndex((each) => !isIdentifier(each));
        if (wrong >= 0) context.addIssue({ code: "custom", path: [wrong], message: `must be ${IDENTIFIER}` });
      }
    })
    .meta({ type: "array", items, maxItems: most });
}

function isIdentifier(given: unknown): boolean {
  return typeof given === "string" && given.length <= IDENTIFIER_LENGTH_MAX && PRINTABLE.test(given);
}

/** Any text of bounded length. */
export function textUpTo(most: number) {
  const error = due(`a text of at most ${most} characters`);
  return z.string({ error }).max(most, { error });
}

export const flag = z.boolean({ error: due("true or false") });

export function wordFrom<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, { error: due(`one of ${words.join(", ")}`) });
}

/** RFC 3339 in UTC with milliseconds. */
export const time = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  .meta({ format: "date-time", description: "RFC 3339, UTC, with milliseconds." });

/** `unixMs` as it stands on the wire. By hand, in half the time of `toISOString`: the answer to a schedule has two. */
export function formatTime(unixMs: number): string {
  const at = new Date(unixMs);
  const year = at.getUTCFullYear();
  // Years of other lengths are written otherwise, and what is no time is an error.
  if (!(year >= 1000 && year <= 9999)) return at.toISOString();
  const date = `${year}-${twoDigits(at.getUTCMonth() + 1)}-${twoDigits(at.getUTCDate())}`;
  const minute = `${twoDigits(at.getUTCHours())}:${twoDigits(at.getUTCMinutes())}`;
  const ms = at.getUTCMilliseconds();
  return `${date}T${minute}:${twoDigits(at.getUTCSeconds())}.${ms < 100 ? "0" : ""}${twoDigits(ms)}Z`;
}

function twoDigits(number: number): string {
  return number < 10 ? `0${number}` : String(number);
}

/** CPU in cores; millicores are its least unit. */
export const cores = z.number().min(0).meta({ description: "CPU in cores." });
export const bytes = z.int().min(0).meta({ description: "Bytes." });

/** What a field's own schema says nothing about: another type than it takes. */
export function describeIssue(issue: z.core.$ZodRawIssue): string {
  if (issue.code === "invalid_type") {
    const what = /^[aeiou]/.test(issue.expected) ? `an ${issue.expected}` : `a ${issue.expected}`;
    return issue.input === undefined ? `is missing; it must be ${what}` : `must be ${what}`;
  }
  return "is not valid";
}
