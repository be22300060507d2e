/** The one form of every error. */
import { z } from "zod";
import { ERRORS, type ErrorCode, type Refusal } from "../errors.ts";

const ERROR_CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]];

export const problemSchema = z
  .object({
    error: z.object({
      code: z.enum(ERROR_CODES),
      message: z.string().meta({ description: "A sentence for a person." }),
      details: z.record(z.string(), z.unknown()).meta({
        description:
          "`field` of invalid_argument, `state` of conflict, `reasons` and `nodes` of no_nodes, `retry` of unavailable.",
      }),
    }),
  })
  .meta({ id: "Problem", description: "Every error has this form." });

export type Problem = z.output<typeof problemSchema>;

export function problemOf({ code, message, details }: Refusal): Problem {
  return { error: { code, message, details: { ...details } } };
}
