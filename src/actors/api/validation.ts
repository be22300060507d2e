/** Checks what comes from outside against the table's schemas. Nothing is coerced; unknown fields fall away. */
import { Ajv } from "ajv";
import { z } from "zod";
import { type Refusal, refuse } from "../../messages/errors.ts";
import { describeIssue } from "../../messages/http/scalars.ts";

/** A refusal on its way through Fastify to the error handler. */
export class RefusalError extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

const OPTIONS = { error: describeIssue } as const;

export interface Checked {
  readonly value?: unknown;
  readonly error?: RefusalError;
}

export type Validator = (given: unknown) => Checked;

/**
 * `where` names the part of the request where a whole part is wrong. Messages never quote what was
 * sent: it may be a secret.
 */
export function validatorOf(schema: z.ZodType, where: string): Validator {
  return (given) => {
    const parsed = schema.safeParse(given, OPTIONS);
    if (parsed.success) return { value: parsed.data };
    const [issue] = parsed.error.issues;
    const field = fieldOf(issue?.path ?? []) || where;
    return {
      error: new RefusalError(refuse("invalid_argument", `${field} ${issue?.message ?? "is not valid"}`, { field })),
    };
  };
}

/**
 * The same, with code compiled from the schema's JSON Schema in front: what that takes is right, with defaults put in and
 * unknown fields taken out in place; zod sees the rest, and says what is wrong with it. On a heartbeat this saves an eighth of
 * what the whole call costs. Only for schemas whose refinements are in their JSON Schema too: a test compares both.
 */
export function compiledValidatorOf(schema: z.ZodType, where: string): Validator {
  const takes = ajv.compile(z.toJSONSchema(schema, { target: "draft-7", io: "output" }));
  const judge = validatorOf(schema, where);
  return (given) => (takes(given) ? { value: given } : judge(given));
}

/** `unicode: false`: lengths are those of JavaScript, as zod counts them. */
const ajv = new Ajv({ useDefaults: true, removeAdditional: true, unicode: false, strict: false, logger: false });

/** `events[2].sandbox_id` for its path. */
export function fieldOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((field, key) => {
    if (typeof key === "number") return `${field}[${key}]`;
    return field === "" ? String(key) : `${field}.${String(key)}`;
  }, "");
}
