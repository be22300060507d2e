/**
 * Whether the newest increase of a node's sums covers every id that may be a part of it: those that were not in both of
 * the two rosters before, since a node reads its sums a moment before its roster. One that the previous roster has proven
 * to be in the previous sums is no part of what they grew by since; to count it would keep whatever is placed between two
 * reports charged twice for one report more, on every busy node.
 *
 * Every confirmed reservation asks, and a roster has up to 100 000 ids. So the ids that matter are picked out once per
 * roster; and a search that has met one that nobody is known to have made goes on from there the next time, so that all
 * confirms after a roster together look at each id about twice.
 */
import type { Node } from "../nodes/node.ts";
import { type RuntimeEpoch, streakOf } from "../nodes/runtime-epoch.ts";
import type { Ledger } from "./ledger.ts";
import { cpuSizeOf, memorySizeOf } from "./reservation.ts";

/** The ids of a roster that the newest increase may be of. */
export interface Newcomers {
  readonly epochNumber: number;
  /** Number of the roster in its epoch. */
  readonly rosterNumber: number;
  readonly sandboxIds: readonly string[];
  /** Index of the one that the next search begins with. */
  next: number;
}

// An id that stands in so many rosters in a row was in both of the last two before the newest.
const LONG_LISTED = 3;

/**
 * An id enters both sums together, so a dimension in which the size of each is known is proof; without one, an id of
 * unknown size could be all of the increase, and nothing is covered.
 */
export function coversNewcomers(ledger: Ledger, node: Node): boolean {
  const { rosterIncrease } = node.epoch;
  if (rosterIncrease === null) return false;
  const newcomers = newcomersOf(ledger, node);
  const { sandboxIds } = newcomers;
  let cpuMillicores = 0;
  let memoryBytes = 0;
  let cpuKnown = true;
  let memoryKnown = true;
  for (let looks = 0; looks < sandboxIds.length; looks++) {
    const holder = ledger.holderOf(sandboxIds[newcomers.next] ?? "");
    if (holder === undefined || holder.account !== node.account) return false;
    newcomers.next = (newcomers.next + 1) % sandboxIds.length;
    const cpuSize = cpuSizeOf(holder);
    const memorySize = memorySizeOf(holder);
    cpuKnown &&= cpuSize !== null;
    memoryKnown &&= memorySize !== null;
    cpuMillicores += cpuSize ?? 0;
    memoryBytes += memorySize ?? 0;
  }
  if (!cpuKnown && !memoryKnown) return false;
  return rosterIncrease.cpuMillicores >= cpuMillicores && rosterIncrease.memoryBytes >= memoryBytes;
}

function newcomersOf(ledger: Ledger, { account, epoch }: Node): Newcomers {
  const { newcomers } = account;
  if (newcomers?.epochNumber === epoch.number && newcomers.rosterNumber === epoch.rosters) return newcomers;
  const picked = { epochNumber: epoch.number, rosterNumber: epoch.rosters, sandboxIds: newIds(ledger, epoch), next: 0 };
  account.newcomers = picked;
  return picked;
}

function newIds(ledger: Ledger, epoch: RuntimeEpoch): string[] {
  const sandboxIds: string[] = [];
  for (const [sandboxId, listing] of epoch.listings) {
    const streak = streakOf(epoch, listing);
    if (streak < LONG_LISTED && !(streak > 1 && isProvenBefore(ledger, epoch, sandboxId))) sandboxIds.push(sandboxId);
  }
  return sandboxIds;
}

function isProvenBefore(ledger: Ledger, epoch: RuntimeEpoch, sandboxId: string): boolean {
  const holder = ledger.holderOf(sandboxId);
  return holder?.provenEpoch === epoch.number && holder.provenRoster === epoch.rosters - 1;
}
