import { availableParallelism } from "node:os";
import { z } from "zod";
import { countBetween } from "../messages/amounts.ts";
import { refuse, show } from "../messages/settings.ts";

const MOST = 64;

/** The word that leaves the choice to `usualApiThreads`. */
const AUTO = "auto";

/**
 * How many threads answer HTTP where nobody says. Measured as CPU time of each thread for a schedule or a confirm, in
 * memory, over 64 connections: all of it takes 30 µs in one thread. With API threads the main thread is left with 12 µs
 * (placement, and the way over and back), and the API threads spend 40 µs between them. So one placement thread feeds
 * three API threads, a fourth would wait for it; and 52 µs instead of 30 are only won back on three cores or more. Half
 * of the cores leaves the others to placement, the journal, gRPC and garbage collection.
 */
export function usualApiThreads(cores: number): number {
  return Math.min(Math.max(Math.floor(cores / 2), 1), 3);
}

/** A number of threads, or `auto`. */
export const apiThreadsSchema: z.ZodType<number, unknown> = z.unknown().transform((given, context) => {
  if (given === undefined || given === AUTO) return usualApiThreads(availableParallelism());
  const count = countBetween(1, MOST).safeParse(given);
  if (count.success) return count.data;
  return refuse(context, `${show(given)} is not a whole number from 1 to ${MOST}, or ${AUTO}`);
});
