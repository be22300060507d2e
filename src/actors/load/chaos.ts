/** What a load run knows of whoever kills the scheduler under it. */
import type { Promised } from "./messages.ts";
import type { Patience } from "./plan.ts";
import type { ClientRecord } from "./records.ts";

/** Kills and restarts the scheduler while requests are fired. */
export interface Chaos {
  /** A client was told something. */
  heard(promised: Promised): void;
  /** Ends when it is over, with the scheduler up again; rejects when that cannot be had. */
  wreak(): Promise<void>;
  /** What did not hold after a restart, in words. */
  readonly broken: readonly string[];
  /** Leases of before the last restart may last until then; Unix milliseconds. */
  readonly leasesLastUntilWallMs: number;
}

/** A minute of tries, since the scheduler may be killed again and again; four requests a second of each client. */
export const CHAOS_PATIENCE: Patience = { triesMax: 120, longestPauseMs: 500, restMs: 250 };

/** What clients were told, with the time more that a restart leaves a lease. */
export function asRestartsLeft(records: readonly ClientRecord[], chaos: Chaos | null): readonly ClientRecord[] {
  if (chaos === null) return records;
  return records.map((record) => {
    if (record.outcome !== "granted") return record;
    const { grant } = record;
    const leaseEndsAtWallMsMost = Math.max(grant.leaseEndsAtWallMsMost, chaos.leasesLastUntilWallMs);
    return { ...record, grant: { ...grant, leaseEndsAtWallMsMost } };
  });
}
