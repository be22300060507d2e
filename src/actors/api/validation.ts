/** Checks what comes from outside against the table's schemas. Nothing is coerced; unknown fields fall away. */
import type { z } from "zod";
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

/**
 * A Fastify validator. `where` names the part of the request where a whole part is wrong. Messages never quote what was
 * sent: it may be a secret.
 */
export function validatorOf(schema: z.ZodType, where: string): (given: unknown) => Checked {
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

/** `events[2].sandbox_id` for its path. */
export function fieldOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((field, key) => {
    if (typeof key === "number") return `${field}[${key}]`;
    return field === "" ? String(key) : `${field}.${String(key)}`;
  }, "");
}
