/**
 * What is remembered of one run of a node's runtime: counters and sums since its baseline, and its rosters. A changed
 * instance, or any counter below its last value, opens a new epoch, and no difference is taken across the border.
 */
import type { SnapshotReport } from "../../../messages/nodes.ts";
import { differenceOf } from "../../../messages/rosters.ts";

/** How a listed sandbox stands in the rosters of this epoch. */
export interface Listing {
  /** Mailbox position of the first roster that listed it, in whatever epoch. */
  readonly firstPosition: number;
  /** Number in its epoch of the first of the rosters in a row, up to the newest, that list it. */
  sinceRoster: number;
  /** Whether it stood in the roster of a report that acknowledged by aggregates: it may be what was acknowledged. */
  acknowledged: boolean;
}

/** The growth of a sum from the previous report of the epoch to this one; negative when it shrank. */
export interface Increase {
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  readonly createSuccesses: number;
}

export interface RuntimeEpoch {
  /** Counts epochs of this node since the start of the process; 0 before the first snapshot. */
  number: number;
  /** Snapshots accepted in this epoch. */
  reports: number;
  baselineSuccesses: number;
  lastSuccesses: number;
  lastFails: number;
  /** Allocated + paused, as last reported. */
  lastCpuMillicores: number;
  lastMemoryBytes: number;
  /** Whether a CREATE event came: then aggregates acknowledge nothing. */
  createSeen: boolean;
  /** Rosters of this epoch; 0: it has none, so far. */
  rosters: number;
  /** The newest of this epoch; null: it has none, so far. */
  roster: readonly string[] | null;
  /** Every id in the newest roster. Kept over an epoch's end for `firstPosition`, streaks begin anew. */
  readonly listings: Map<string, Listing>;
  /** Increase that came with the newest roster; null at a baseline. */
  rosterIncrease: Increase | null;
  /** Of what is acknowledged by aggregates, see `ledger/aggregates.ts`. */
  acknowledgementsGiven: number;
  surplusSpent: number;
  managedCounted: number;
  /** Listings of ids that left the rosters, longest gone first. */
  readonly departed: Map<string, Listing>;
}

// Ids that left a roster, kept so that a CREATE event that was overtaken does not bind them. Events are sent once and
// late by seconds at most; a node does not end more sandboxes than this in that time.
const DEPARTED_MAX = 256;

export function newRuntimeEpoch(): RuntimeEpoch {
  return {
    number: 0,
    reports: 0,
    baselineSuccesses: 0,
    lastSuccesses: 0,
    lastFails: 0,
    lastCpuMillicores: 0,
    lastMemoryBytes: 0,
    createSeen: false,
    rosters: 0,
    roster: null,
    listings: new Map(),
    rosterIncrease: null,
    acknowledgementsGiven: 0,
    surplusSpent: 0,
    managedCounted: 0,
    departed: new Map(),
  };
}

/** Whether a counter of the same instance ran backwards, which only a restart explains. */
export function ranBackwards(epoch: RuntimeEpoch, snapshot: SnapshotReport): boolean {
  return snapshot.createSuccesses < epoch.lastSuccesses || snapshot.createFails < epoch.lastFails;
}

/** Opens an epoch; the next `noteSnapshot` is its baseline. */
export function openEpoch(epoch: RuntimeEpoch): void {
  epoch.number += 1;
  epoch.reports = 0;
  epoch.createSeen = false;
  epoch.rosters = 0;
  epoch.roster = null;
  epoch.rosterIncrease = null;
  epoch.acknowledgementsGiven = 0;
  epoch.surplusSpent = 0;
  epoch.managedCounted = 0;
}

/** Takes the counters and sums over; null when this is the baseline. */
export function noteSnapshot(epoch: RuntimeEpoch, snapshot: SnapshotReport): Increase | null {
  const cpuMillicores = snapshot.allocatedCpuMillicores + snapshot.pausedAllocatedCpuMillicores;
  const memoryBytes = snapshot.allocatedMemoryBytes + snapshot.pausedAllocatedMemoryBytes;
  const increase =
    epoch.reports === 0
      ? null
      : {
          cpuMillicores: cpuMillicores - epoch.lastCpuMillicores,
          memoryBytes: memoryBytes - epoch.lastMemoryBytes,
          createSuccesses: snapshot.createSuccesses - epoch.lastSuccesses,
        };
  if (epoch.reports === 0) epoch.baselineSuccesses = snapshot.createSuccesses;
  epoch.reports += 1;
  epoch.lastSuccesses = snapshot.createSuccesses;
  epoch.lastFails = snapshot.createFails;
  epoch.lastCpuMillicores = cpuMillicores;
  epoch.lastMemoryBytes = memoryBytes;
  return increase;
}

export interface RosterArrival {
  readonly sandboxIds: readonly string[];
  readonly position: number;
  readonly increase: Increase | null;
}

/** Takes a roster over; what it says, as it is kept. A roster that differs little from the last one costs as little. */
export function noteRoster(epoch: RuntimeEpoch, arrival: RosterArrival): readonly string[] {
  const before = epoch.roster;
  epoch.rosters += 1;
  epoch.rosterIncrease = arrival.increase;
  // As many listings as ids: nothing is listed twice, so a difference tells what left.
  if (before === null || epoch.listings.size !== before.length) epoch.roster = noteWhole(epoch, arrival);
  else epoch.roster = noteDifference(epoch, before, arrival);
  return epoch.roster;
}

function noteWhole(epoch: RuntimeEpoch, { sandboxIds, position }: RosterArrival): readonly string[] {
  const listed = new Set(sandboxIds);
  for (const sandboxId of listed) {
    const listing = epoch.listings.get(sandboxId);
    if (listing === undefined) enter(epoch, sandboxId, position);
    // Listed in an earlier epoch, whose rosters are no part of the row.
    else if (epoch.rosters === 1) listing.sinceRoster = 1;
  }
  for (const [sandboxId, listing] of epoch.listings) if (!listed.has(sandboxId)) depart(epoch, sandboxId, listing);
  return sandboxIds;
}

function noteDifference(
  epoch: RuntimeEpoch,
  before: readonly string[],
  { sandboxIds, position }: RosterArrival,
): readonly string[] {
  const difference = differenceOf(before, sandboxIds);
  if (difference === null) return before;
  for (const sandboxId of difference.came) if (!epoch.listings.has(sandboxId)) enter(epoch, sandboxId, position);
  for (const sandboxId of difference.left) {
    const listing = epoch.listings.get(sandboxId);
    if (listing !== undefined) depart(epoch, sandboxId, listing);
  }
  return difference.sandboxIds;
}

function enter(epoch: RuntimeEpoch, sandboxId: string, position: number): void {
  const gone = epoch.departed.get(sandboxId);
  epoch.listings.set(sandboxId, {
    firstPosition: gone?.firstPosition ?? position,
    sinceRoster: epoch.rosters,
    acknowledged: gone?.acknowledged ?? false,
  });
}

/** The newest report acknowledged by aggregates, so no CREATE may bind what stands in its roster. */
export function markAcknowledged(epoch: RuntimeEpoch): void {
  for (const listing of epoch.listings.values()) listing.acknowledged = true;
}

function depart(epoch: RuntimeEpoch, sandboxId: string, listing: Listing): void {
  epoch.listings.delete(sandboxId);
  epoch.departed.set(sandboxId, listing);
  for (const oldest of epoch.departed.keys()) {
    if (epoch.departed.size <= DEPARTED_MAX) return;
    epoch.departed.delete(oldest);
  }
}

/** What the rosters, of now or of before, say of it; undefined when none is remembered to have listed it. */
export function listingOf(epoch: RuntimeEpoch, sandboxId: string): Listing | undefined {
  return epoch.listings.get(sandboxId) ?? epoch.departed.get(sandboxId);
}

/** Consecutive rosters of this epoch, up to the newest, that list it; 0 when the newest does not. */
export function listedStreak(epoch: RuntimeEpoch, sandboxId: string): number {
  const listing = epoch.listings.get(sandboxId);
  return listing === undefined ? 0 : streakOf(epoch, listing);
}

/** Of one of the epoch's `listings`. */
export function streakOf(epoch: RuntimeEpoch, listing: Listing): number {
  // Before the first roster of an epoch the listings are those of the one before.
  return epoch.rosters === 0 ? 0 : epoch.rosters - listing.sinceRoster + 1;
}
