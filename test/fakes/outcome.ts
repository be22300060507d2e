import type { Outcome } from "../../src/actors/kernel/outcome.ts";

/** The value of an outcome that a test takes for granted. */
export function unwrap<T>(outcome: Outcome<T>): T {
  if (!outcome.ok) throw new Error(outcome.error.message);
  return outcome.value;
}
