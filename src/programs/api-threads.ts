import { availableParallelism } from "node:os";
import { z } from "zod";
import { countBetween } from "../messages/amounts.ts";
import { refuse, show } from "../messages/settings.ts";

const MOST = 64;

/** The word that leaves the choice to `usualApiThreads`. */
const AUTO = "auto";

/** How many threads answer HTTP where nobody says. */
export function usualApiThreads(cores: number): number {
  return cores < 4 ? 1 : 2;
}

/** A number of threads, or `auto`. */
export const apiThreadsSchema: z.ZodType<number, unknown> = z.unknown().transform((given, context) => {
  if (given === undefined || given === AUTO) return usualApiThreads(availableParallelism());
  const count = countBetween(1, MOST).safeParse(given);
  return count.success
    ? count.data
    : refuse(context, `${show(given)} is not ${AUTO} or a whole number from 1 to ${MOST}`);
});
