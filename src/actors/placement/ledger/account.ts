/**
 * What is in flight on one node: its live reservations and their exact integer sums, kept up with every change so that
 * a decision never adds them up.
 */
import type { Newcomers } from "./newcomers.ts";
import { chargedCpu, chargedMemory, isLive, type Reservation } from "./reservation.ts";
import { ReservationList } from "./reservation-list.ts";

/** The slot of an account whose node was dropped, or is not known yet. */
export const NO_SLOT = -1;

export interface InFlight {
  /** Reservations by state, whether or not their count is still charged. */
  pending: number;
  confirmed: number;
  /** Those whose count is charged: sandboxes that the newest report does not contain. */
  chargedPending: number;
  chargedConfirmed: number;
  cpuMillicores: number;
  memoryBytes: number;
  /** Pending ones that only inference can see; aggregates have nothing to do where there are none. */
  unmanagedPending: number;
}

export interface Account {
  readonly nodeId: string;
  /** In the order in which they became so; compare `position` where age matters. */
  readonly pending: ReservationList;
  readonly confirmed: ReservationList;
  readonly inFlight: InFlight;
  /** The reservation that was made on it last, whatever became of it; null: none ever was. */
  newest: Reservation | null;
  /** Of the last roster that was asked about them, which need not be the newest; null: of none. */
  newcomers: Newcomers | null;
  /** Where the candidate index has its node, see `index/slots.ts`. */
  slot: number;
}

export function newAccount(nodeId: string): Account {
  return {
    nodeId,
    pending: new ReservationList(),
    confirmed: new ReservationList(),
    inFlight: nothingInFlight(),
    newest: null,
    newcomers: null,
    slot: NO_SLOT,
  };
}

export function nothingInFlight(): InFlight {
  return {
    pending: 0,
    confirmed: 0,
    chargedPending: 0,
    chargedConfirmed: 0,
    cpuMillicores: 0,
    memoryBytes: 0,
    unmanagedPending: 0,
  };
}

/**
 * Adds what a reservation weighs now, or takes it away again. Every change of a reservation is between a taking away and
 * an adding, so nothing can be released twice or leak: what is taken away is what was added.
 */
export function weigh(sums: InFlight, reservation: Reservation, sign: 1 | -1): void {
  if (!isLive(reservation)) return;
  const counted = reservation.count === "charged" ? sign : 0;
  if (reservation.status === "pending") {
    sums.pending += sign;
    sums.chargedPending += counted;
    if (!reservation.terms.managed) sums.unmanagedPending += sign;
  } else {
    sums.confirmed += sign;
    sums.chargedConfirmed += counted;
  }
  sums.cpuMillicores += sign * chargedCpu(reservation);
  sums.memoryBytes += sign * chargedMemory(reservation);
}

/** The sums, added up anew from the live reservations: what `inFlight` must equal at any time. */
export function recount(account: Account): InFlight {
  const sums = nothingInFlight();
  for (const reservation of account.pending) weigh(sums, reservation, 1);
  for (const reservation of account.confirmed) weigh(sums, reservation, 1);
  return sums;
}
