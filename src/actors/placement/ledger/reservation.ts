/**
 * One reservation and its lifecycle.
 *
 * ```
 *             confirm(sandbox_id)            the node's sums contain it
 *  pending ─────────────────────▶ confirmed ─────────────────────────────▶ settled
 *    │  │  └── uncertain ──▶ pending, short lease    └─ deleted / rebooted ─▶ released
 *    │  └──── cancel ──▶ cancelled
 *    └── lease over ──▶ expired ── late confirm ──▶ confirmed (late)
 * ```
 *
 * Pending and confirmed are charged, the others are not. Not drawn: aggregates settle a pending one; an orphan goes from
 * confirmed to expired; an inferred binding is taken back (to pending) or replaced (to confirmed) from where it is.
 */
import type { ReservationState } from "../../../messages/placement.ts";
import type { DimensionProgress, ReservationChange, ReservationTerms } from "../events.ts";
import type { Account } from "./account.ts";
import type { ReservationList } from "./reservation-list.ts";

/** Its durable fields are moved only by `Ledger.apply`; what reports said of it by those who judge reports. */
export interface Reservation {
  readonly terms: ReservationTerms;
  readonly account: Account;
  /** Of the message that made it: what "made before" compares. */
  readonly position: number;
  readonly createdAtMs: number;
  readonly createdAtWallMs: number;
  status: ReservationState;
  /** End of the lease; kept beyond confirm, since an inferred binding may be taken back. */
  leaseEndMs: number;
  /** Index in the lease heap; -1: not in it. */
  leaseSlot: number;
  confirmedAtMs: number | null;
  endedAtMs: number | null;
  uncertain: boolean;
  late: boolean;
  provisional: boolean;
  sandboxId: string | null;
  reason: string | null;
  /** What a CREATE event told of an unknown demand. */
  filledCpuMillicores: number | null;
  filledMemoryBytes: number | null;
  count: "charged" | "settled";
  cpu: DimensionProgress;
  memory: DimensionProgress;
  /** The list that it is in, and its neighbours there. */
  list: ReservationList | null;
  previous: Reservation | null;
  next: Reservation | null;

  // What the reports since said of it, see `identity.ts` and `aggregates.ts`. Not durable: after a restart it starts
  // anew, which only delays.

  /** Epoch of the node at the confirm; 0: not known. */
  confirmEpoch: number;
  /** Rosters since the confirm that lacked it. */
  rosterMisses: number;
  /** Epoch of the roster by which it settled; 0: by none of this process. */
  provenEpoch: number;
  /** Number of that roster in its epoch. */
  provenRoster: number;
  /** Arrival of the first snapshot after the confirm. */
  firstSnapshotAtMs: number | null;
  /** Epoch in which it was counted among the managed ones that may explain a success; 0: in none. */
  countedEpoch: number;
  /** Epoch and number of the report that acknowledged each amount; null: none of this process did. */
  cpuAcknowledgedAt: ReportPlace | null;
  memoryAcknowledgedAt: ReportPlace | null;
}

export interface ReportPlace {
  readonly epoch: number;
  readonly report: number;
}

/** The changes that move a reservation from state to state, by their type. */
export type Transition = Extract<
  ReservationChange["type"],
  "confirmed" | "unbound" | "cancelled" | "expired" | "settled" | "released"
>;

const TRANSITION_TYPES: ReadonlySet<string> = new Set<Transition>([
  "confirmed",
  "unbound",
  "cancelled",
  "expired",
  "settled",
  "released",
]);

export function isTransition(type: ReservationChange["type"]): type is Transition {
  return TRANSITION_TYPES.has(type);
}

/** Where each transition leads, by where it starts. What is not in the table cannot happen. */
export const TRANSITIONS: Readonly<Record<ReservationState, Readonly<Partial<Record<Transition, ReservationState>>>>> =
  {
    pending: {
      confirmed: "confirmed",
      cancelled: "cancelled",
      expired: "expired",
      settled: "settled",
      released: "released",
    },
    confirmed: {
      confirmed: "confirmed",
      unbound: "pending",
      expired: "expired",
      settled: "settled",
      released: "released",
    },
    settled: { confirmed: "confirmed", unbound: "pending" },
    cancelled: {},
    expired: { confirmed: "confirmed", unbound: "pending" },
    released: { confirmed: "confirmed", unbound: "pending" },
  };

/** Null when the transition is not in the table. */
export function nextStatus(status: ReservationState, transition: Transition): ReservationState | null {
  return TRANSITIONS[status][transition] ?? null;
}

export function isLive(reservation: Reservation): boolean {
  return reservation.status === "pending" || reservation.status === "confirmed";
}

/** What the sandbox will take of the node, as far as anyone said; null: unknown. */
export function cpuSizeOf(reservation: Reservation): number | null {
  return reservation.filledCpuMillicores ?? reservation.terms.demandCpuMillicores;
}

export function memorySizeOf(reservation: Reservation): number | null {
  return reservation.filledMemoryBytes ?? reservation.terms.demandMemoryBytes;
}

/** What it is charged while it is live and the amount is not settled. */
export function cpuChargeOf(reservation: Reservation): number {
  return reservation.filledCpuMillicores ?? reservation.terms.chargeCpuMillicores;
}

export function memoryChargeOf(reservation: Reservation): number {
  return reservation.filledMemoryBytes ?? reservation.terms.chargeMemoryBytes;
}

/** What it is charged now, in millicores: 0 unless live. */
export function chargedCpu(reservation: Reservation): number {
  return isLive(reservation) && reservation.cpu !== "settled" ? cpuChargeOf(reservation) : 0;
}

/** What it is charged now, in bytes: 0 unless live. */
export function chargedMemory(reservation: Reservation): number {
  return isLive(reservation) && reservation.memory !== "settled" ? memoryChargeOf(reservation) : 0;
}

/** Whether inference may end it: nobody closes it by token, or its caller cannot know. */
export function isInferable(reservation: Reservation): boolean {
  return !reservation.terms.managed || reservation.uncertain;
}
