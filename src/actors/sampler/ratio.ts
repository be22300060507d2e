import { failed, found, none, type Outcome } from "./outcome.ts";

/**
 * `usage / limit`, at most 1. A limit of 0 leaves nothing to be a fraction of; a negative usage is no usage.
 */
export function usageRatio(usage: bigint, limit: bigint): Outcome<number> {
  if (usage < 0n) return failed(`the usage is negative: ${usage}`);
  if (limit <= 0n) return none(`the limit is ${limit}`);
  // Both round to doubles on their own, which costs the ratio its 16th digit at most.
  return found(Math.min(1, Number(usage) / Number(limit)));
}
