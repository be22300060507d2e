/** How two rosters of one node differ. Most say what the one before said, or differ in a few places. */

export interface RosterDifference {
  /** Listed by the later one where the two differ. Some may be in both: they have moved. */
  readonly came: readonly string[];
  /** Listed by the earlier one there, and not by the later one there. */
  readonly left: readonly string[];
  /** The later roster, made of the earlier one's own texts where they agree: what is kept of many reports stays one copy. */
  readonly sandboxIds: readonly string[];
}

/**
 * What is between the longest common beginning and the longest common end. Null: they are the same. Says what left only
 * where the earlier roster lists nothing twice.
 */
export function differenceOf(before: readonly string[], now: readonly string[]): RosterDifference | null {
  if (before === now) return null;
  const shorter = Math.min(before.length, now.length);
  let from = 0;
  while (from < shorter && before[from] === now[from]) from += 1;
  if (from === before.length && from === now.length) return null;
  let same = 0;
  while (same < shorter - from && before[before.length - 1 - same] === now[now.length - 1 - same]) same += 1;
  const came = now.slice(from, now.length - same);
  const gone = before.slice(from, before.length - same);
  const still = new Set(came);
  return {
    came,
    left: gone.filter((sandboxId) => !still.has(sandboxId)),
    sandboxIds: [...before.slice(0, from), ...came, ...before.slice(before.length - same)],
  };
}
