/** How reservations come to be: made now, or restored from what is durable of them; and that durable part itself. */
import type { ReservationRecord, ReservationTerms } from "../events.ts";
import type { Instant } from "../instant.ts";
import type { Account } from "./account.ts";
import type { Reservation } from "./reservation.ts";

/** The moment at which a change holds: for a replayed one, translated to this process's monotonic clock. */
export interface ChangeTime extends Instant {
  readonly position: number;
}

export function newReservation(
  account: Account,
  terms: ReservationTerms,
  leaseMs: number,
  at: ChangeTime,
): Reservation {
  return {
    terms,
    account,
    position: at.position,
    createdAtMs: at.nowMs,
    createdAtWallMs: at.wallMs,
    status: "pending",
    leaseEndMs: at.nowMs + leaseMs,
    leaseSlot: -1,
    confirmedAtMs: null,
    endedAtMs: null,
    uncertain: false,
    late: false,
    provisional: false,
    sandboxId: null,
    reason: null,
    filledCpuMillicores: null,
    filledMemoryBytes: null,
    count: "charged",
    cpu: "charged",
    memory: "charged",
    list: null,
    previous: null,
    next: null,
    confirmEpoch: 0,
    rosterMisses: 0,
    provenEpoch: 0,
    provenRoster: 0,
    firstSnapshotAtMs: null,
    countedEpoch: 0,
    cpuAcknowledgedAt: null,
    memoryAcknowledgedAt: null,
  };
}

export function restoredReservation(account: Account, record: ReservationRecord, at: ChangeTime): Reservation {
  const { terms, leaseEndWallMs, confirmedAtWallMs, endedAtWallMs, ...kept } = record;
  const monotonic = (wallMs: number): number => at.nowMs + wallMs - at.wallMs;
  // Onto one that was made like any other: reservations of two layouts would make each look at one slower.
  return Object.assign(newReservation(account, terms, 0, at), kept, {
    createdAtMs: monotonic(record.createdAtWallMs),
    leaseEndMs: monotonic(leaseEndWallMs),
    confirmedAtMs: confirmedAtWallMs === null ? null : monotonic(confirmedAtWallMs),
    endedAtMs: endedAtWallMs === null ? null : monotonic(endedAtWallMs),
  });
}

/** The durable part of a reservation, for a snapshot of the log. */
export function recordOf(reservation: Reservation, now: Instant): ReservationRecord {
  const wall = (atMs: number): number => now.wallMs + atMs - now.nowMs;
  return {
    terms: reservation.terms,
    status: reservation.status,
    position: reservation.position,
    createdAtWallMs: reservation.createdAtWallMs,
    leaseEndWallMs: wall(reservation.leaseEndMs),
    confirmedAtWallMs: reservation.confirmedAtMs === null ? null : wall(reservation.confirmedAtMs),
    endedAtWallMs: reservation.endedAtMs === null ? null : wall(reservation.endedAtMs),
    uncertain: reservation.uncertain,
    late: reservation.late,
    provisional: reservation.provisional,
    sandboxId: reservation.sandboxId,
    reason: reservation.reason,
    filledCpuMillicores: reservation.filledCpuMillicores,
    filledMemoryBytes: reservation.filledMemoryBytes,
    count: reservation.count,
    cpu: reservation.cpu,
    memory: reservation.memory,
  };
}
