/**
 * All reservations, live and remembered, by everything they are asked for by. It changes only by `apply`, which decides
 * nothing: what it is told to do has been decided, now or before a restart.
 */
import type { ReservationState } from "../../../messages/placement.ts";
import type { ReservationChange } from "../events.ts";
import type { Slots } from "../index/slots.ts";
import { type Account, newAccount, weigh } from "./account.ts";
import { KnownReservations } from "./known-reservations.ts";
import { Leases } from "./leases.ts";
import { isToken } from "./names.ts";
import { type ChangeTime, newReservation, restoredReservation } from "./record.ts";
import { isLive, isTransition, nextStatus, type Reservation } from "./reservation.ts";
import { ReservationList } from "./reservation-list.ts";

export interface NamedSandbox {
  /** `unbound`: an inferred binding was taken back; a confirm may bind the id again, inference may not. */
  readonly how: "deleted" | "forked" | "unbound";
  /** Whose event named it; null: a caller did, and speaks for every node. */
  readonly nodeId: string | null;
  readonly atMs: number;
}

export interface LeaseBounds {
  readonly nowMs: number;
  readonly leastMs: number;
  readonly mostMs: number;
  keeps(reservation: Reservation): boolean;
}

export class Ledger {
  readonly reservations = new KnownReservations();
  readonly accounts = new Map<string, Account>();
  readonly leases = new Leases();
  /** Those that have ended, the longest ended first. */
  readonly ended = new ReservationList();
  /** Sandbox ids named by a DELETE or FORK, the longest named first. */
  readonly named = new Map<string, NamedSandbox>();
  readonly #byRequestKey = new Map<string, Reservation>();
  readonly #bySandboxId = new Map<string, Reservation>();
  readonly #slots: Slots;

  constructor(slots: Slots) {
    this.#slots = slots;
  }

  /** By token or public id. */
  find(handle: string): Reservation | undefined {
    return isToken(handle) ? this.reservations.holding(handle) : this.reservations.get(handle);
  }

  findByRequestKey(requestKey: string): Reservation | undefined {
    return this.#byRequestKey.get(requestKey);
  }

  /** The reservation that the sandbox id is bound to; undefined when there is none. */
  holderOf(sandboxId: string): Reservation | undefined {
    return this.#bySandboxId.get(sandboxId);
  }

  /** Whether inference must leave it alone: it is or was bound, or was named by a FORK or DELETE. */
  isKnown(sandboxId: string): boolean {
    return this.#bySandboxId.has(sandboxId) || this.named.has(sandboxId);
  }

  accountOf(nodeId: string): Account {
    let account = this.accounts.get(nodeId);
    if (account === undefined) {
      account = newAccount(nodeId);
      this.accounts.set(nodeId, account);
    }
    return account;
  }

  apply(change: ReservationChange, at: ChangeTime): void {
    switch (change.type) {
      case "reserved":
        return this.#enter(newReservation(this.accountOf(change.terms.nodeId), change.terms, change.leaseMs, at));
      case "reservation_restored":
        return this.#enter(restoredReservation(this.accountOf(change.record.terms.nodeId), change.record, at));
      case "sandbox_named":
        return this.#name(change.sandboxId, { how: change.how, nodeId: change.nodeId ?? null, atMs: at.nowMs });
      case "forgotten":
        for (const id of change.ids) this.#forget(id);
        for (const sandboxId of change.sandboxIds) this.named.delete(sandboxId);
        return;
      default: {
        const reservation = this.reservations.get(change.id);
        if (reservation === undefined) throw new Error(`${change.type}: no reservation ${change.id}`);
        // Before anything is taken out: a change that cannot be must leave the sums as they are.
        const status = statusAfter(reservation, change.type);
        this.#slots.touch(reservation.account);
        this.#remove(reservation);
        reservation.status = status;
        this.#change(reservation, change, at);
        this.#insert(reservation);
      }
    }
  }

  /**
   * After a replay: leases have what the wall clock leaves of them, within bounds, and the ended are in the order of
   * their ends. `leastMs` ≤ what is left ≤ `mostMs`; `keeps` names those whose end is no lease.
   */
  resume(bounds: LeaseBounds): void {
    for (const account of this.accounts.values()) {
      for (const reservation of account.pending) {
        if (bounds.keeps(reservation)) continue;
        const leftMs = reservation.leaseEndMs - bounds.nowMs;
        reservation.leaseEndMs = bounds.nowMs + Math.max(bounds.leastMs, Math.min(bounds.mostMs, leftMs));
        this.leases.put(reservation);
      }
    }
    const ended = [...this.ended].sort((left, right) => (left.endedAtMs ?? 0) - (right.endedAtMs ?? 0));
    for (const reservation of ended) {
      this.ended.remove(reservation);
      this.ended.append(reservation);
    }
  }

  #enter(reservation: Reservation): void {
    const { terms } = reservation;
    this.#slots.touch(reservation.account);
    reservation.account.newest = reservation;
    this.reservations.add(reservation);
    if (terms.requestKey !== null) this.#byRequestKey.set(terms.requestKey, reservation);
    if (reservation.sandboxId !== null) this.#bySandboxId.set(reservation.sandboxId, reservation);
    this.#insert(reservation);
  }

  #change(
    reservation: Reservation,
    change: Exclude<ReservationChange, { type: "reserved" | "reservation_restored" | "sandbox_named" | "forgotten" }>,
    at: ChangeTime,
  ): void {
    switch (change.type) {
      case "renewed":
        reservation.leaseEndMs = at.nowMs + change.leaseMs;
        reservation.uncertain = false;
        return;
      case "marked_uncertain":
        reservation.leaseEndMs = at.nowMs + change.leaseMs;
        reservation.uncertain = true;
        return;
      case "affirmed":
        reservation.provisional = false;
        return;
      case "acknowledged":
        if (change.dimension === "count") reservation.count = "settled";
        else reservation[change.dimension] = "acknowledged";
        return;
      case "dimension_settled":
        reservation[change.dimension] = "settled";
        return;
      case "recharged":
        reservation[change.dimension] = "charged";
        return;
      case "confirmed":
        if (reservation.sandboxId !== change.sandboxId) this.#unbind(reservation, at.nowMs);
        this.#bySandboxId.set(change.sandboxId, reservation);
        bind(reservation, change, at);
        return;
      case "unbound":
        this.#unbind(reservation, at.nowMs);
        backToPending(reservation);
        return;
      case "settled":
        reservation.endedAtMs = at.nowMs;
        return;
      case "cancelled":
      case "expired":
      case "released":
        reservation.reason = change.reason;
        reservation.endedAtMs = at.nowMs;
        return;
      default:
        change satisfies never;
    }
  }

  /** Only inferred bindings are ever undone; the id is remembered as one that was bound. */
  #unbind(reservation: Reservation, atMs: number): void {
    const { sandboxId } = reservation;
    if (sandboxId === null) return;
    this.#bySandboxId.delete(sandboxId);
    if (!this.named.has(sandboxId)) this.#name(sandboxId, { how: "unbound", nodeId: null, atMs });
    reservation.sandboxId = null;
  }

  #name(sandboxId: string, named: NamedSandbox): void {
    this.named.delete(sandboxId);
    this.named.set(sandboxId, named);
  }

  #forget(id: string): void {
    const reservation = this.reservations.get(id);
    if (reservation === undefined || isLive(reservation)) return;
    const { requestKey } = reservation.terms;
    this.reservations.delete(reservation);
    this.ended.remove(reservation);
    if (requestKey !== null && this.#byRequestKey.get(requestKey) === reservation)
      this.#byRequestKey.delete(requestKey);
    const { sandboxId } = reservation;
    if (sandboxId !== null && this.#bySandboxId.get(sandboxId) === reservation) this.#bySandboxId.delete(sandboxId);
  }

  /** With `#insert` around every change: what is taken out is what was put in. */
  #remove(reservation: Reservation): void {
    weigh(reservation.account.inFlight, reservation, -1);
    reservation.list?.remove(reservation);
  }

  #listFor({ status, account }: Reservation): ReservationList {
    if (status === "pending") return account.pending;
    return status === "confirmed" ? account.confirmed : this.ended;
  }

  #insert(reservation: Reservation): void {
    weigh(reservation.account.inFlight, reservation, 1);
    this.#listFor(reservation).append(reservation);
    if (reservation.status === "pending") this.leases.put(reservation);
    else this.leases.remove(reservation);
  }
}

/** Where a change leads; changes that are no transitions leave the status. Throws on what cannot happen. */
function statusAfter(reservation: Reservation, type: ReservationChange["type"]): ReservationState {
  if (!isTransition(type)) return reservation.status;
  const status = nextStatus(reservation.status, type);
  if (status === null) throw new Error(`${type}: not from ${reservation.status}, ${reservation.terms.id}`);
  return status;
}

function bind(
  reservation: Reservation,
  change: Extract<ReservationChange, { type: "confirmed" }>,
  at: ChangeTime,
): void {
  reservation.sandboxId = change.sandboxId;
  reservation.late = reservation.late || change.late;
  reservation.provisional = change.provisional;
  reservation.filledCpuMillicores = change.filledCpuMillicores;
  reservation.filledMemoryBytes = change.filledMemoryBytes;
  reservation.confirmedAtMs = at.nowMs;
  reservation.endedAtMs = null;
  reservation.reason = null;
  reservation.rosterMisses = 0;
  reservation.provenEpoch = 0;
  reservation.firstSnapshotAtMs = null;
  if (change.late) {
    // Whatever aggregates took for it before its lease ended was a guess; now it is known to be there.
    reservation.count = "charged";
    reservation.cpu = "charged";
    reservation.memory = "charged";
  }
}

function backToPending(reservation: Reservation): void {
  reservation.provisional = false;
  reservation.filledCpuMillicores = null;
  reservation.filledMemoryBytes = null;
  reservation.confirmedAtMs = null;
  reservation.endedAtMs = null;
  reservation.reason = null;
}
