import { availableParallelism } from "node:os";
import { z } from "zod";
import { countBetween } from "../messages/amounts.ts";
import { refuse, show } from "../messages/settings.ts";

/**
 * Far more than one placement thread feeds, on machines that are yet to come: at 11 µs for a call it has no time for four.
 * Each thread costs a heap of its own, and a number of hundreds is a mistake rather than a wish.
 */
const COUNT_MAX = 64;

/** The word that leaves the choice to `usualApiThreads`. */
const AUTO = "auto";

/**
 * How many threads answer HTTP where nobody says. Measured by `bench/api-threads.ts` as CPU time for a schedule or a
 * confirm: all of it takes 27 µs in one thread. With API threads the main thread is left with 11 µs, which are placement
 * and its half of the way over and back, and the API threads spend 31 µs between them. So one placement thread feeds three
 * API threads, and a fourth would wait for it. The 42 µs instead of 27 are won back where cores are free for them: half of
 * the cores leaves the others to placement, the journal, gRPC and garbage collection.
 */
export function usualApiThreads(cores: number): number {
  return Math.min(Math.max(Math.floor(cores / 2), 1), 3);
}

/** A number of threads, or `auto`. */
export const apiThreadsSchema: z.ZodType<number, unknown> = z.unknown().transform((given, context) => {
  if (given === undefined || given === AUTO) return usualApiThreads(availableParallelism());
  const count = countBetween(1, COUNT_MAX).safeParse(given);
  if (count.success) return count.data;
  return refuse(context, `${show(given)} is not a whole number from 1 to ${COUNT_MAX}, or ${AUTO}`);
});
