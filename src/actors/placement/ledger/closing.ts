/**
 * How callers close a reservation or keep it open: cancel, renew, uncertain. (Confirm is in `confirming.ts`.) Leases that
 * are over have been ended before any of these is asked, so of a race exactly one wins: the one that came first.
 */
import { type Refusal, refuse } from "../../../messages/errors.ts";
import { type Core, nodeOf } from "../core.ts";
import { noteFailure } from "../nodes/demotion.ts";
import type { Turn } from "../turn.ts";
import { rechargeReplacements, uncountManaged } from "./aggregates.ts";
import type { Reservation } from "./reservation.ts";

/** What came of a call: a refusal, or whether an earlier call had brought it there already. */
export type Closing = { readonly refusal: Refusal } | { readonly repeated: boolean };

const FAILURE_REASONS: ReadonlySet<string> = new Set(["refused", "failed"]);

export function conflict(reservation: Reservation, message: string): { readonly refusal: Refusal } {
  return { refusal: refuse("conflict", message, { state: reservation.status }) };
}

/** Ends a pending one. An expired one answers as it is; a confirmed one is a conflict. */
export function cancel(core: Core, turn: Turn, reservation: Reservation, reason: string | null): Closing {
  if (reservation.status === "cancelled" || reservation.status === "expired") return { repeated: true };
  if (reservation.status !== "pending") return conflict(reservation, `cannot cancel: it is ${reservation.status}`);
  rechargeReplacements(turn, reservation);
  turn.emit({ type: "cancelled", id: reservation.terms.id, reason: reason ?? "cancelled" });
  const node = nodeOf(core, reservation);
  if (node === undefined) return { repeated: false };
  uncountManaged(node, reservation);
  if (reason !== null && FAILURE_REASONS.has(reason)) {
    const demotes = noteFailure(node, core.config, turn.now.nowMs);
    if (demotes) turn.notice({ type: "node_demoted", nodeId: node.nodeId });
    if (turn.now.nowMs < node.demotedUntilMs) core.index.noteDemotion(node);
  }
  return { repeated: false };
}

/** Moves the end of the lease to a whole lease from now, at most to the greatest age, and clears the uncertain mark. */
export function renew(core: Core, turn: Turn, reservation: Reservation): Closing {
  if (reservation.status !== "pending") return conflict(reservation, `cannot renew: it is ${reservation.status}`);
  const { placementReservationTtlMs, maxReservationAgeMs } = core.config;
  const leftMs = reservation.createdAtMs + maxReservationAgeMs - turn.now.nowMs;
  // After a restart a lease may outlast the greatest age; renewing does not take that back.
  const runningMs = reservation.leaseEndMs - turn.now.nowMs;
  const leaseMs = leftMs <= 0 ? runningMs : Math.min(placementReservationTtlMs, leftMs);
  turn.emit({ type: "renewed", id: reservation.terms.id, leaseMs });
  return { repeated: false };
}

/**
 * The first mark shortens the lease; repeats change nothing. On a ledger node nothing but its caller, an operator or the
 * greatest age ends it, since nobody else would ever say what became of the create.
 */
export function markUncertain(core: Core, turn: Turn, reservation: Reservation): Closing {
  if (reservation.status !== "pending") {
    return conflict(reservation, `cannot mark as uncertain: it is ${reservation.status}`);
  }
  if (reservation.uncertain) return { repeated: true };
  const { nowMs } = turn.now;
  const { uncertainTtlMs, maxReservationAgeMs } = core.config;
  const onLedger = nodeOf(core, reservation)?.ledger ?? false;
  const endMs = onLedger
    ? reservation.createdAtMs + maxReservationAgeMs
    : Math.min(reservation.leaseEndMs, nowMs + uncertainTtlMs);
  turn.emit({ type: "marked_uncertain", id: reservation.terms.id, leaseMs: endMs - nowMs });
  return { repeated: false };
}

/** The answer that made it was lost: a caller who can ask again may; one who cannot never will. */
export function undelivered(core: Core, turn: Turn, reservation: Reservation): void {
  if (reservation.status !== "pending") return;
  if (reservation.terms.requestKey === null) cancel(core, turn, reservation, "undelivered");
  else markUncertain(core, turn, reservation);
}

/** Ends the leases that are over, in the order of their ends. */
export function expireLeases(core: Core, turn: Turn): void {
  for (;;) {
    const reservation = core.ledger.leases.peek();
    if (reservation === undefined || reservation.leaseEndMs > turn.now.nowMs) return;
    expireLease(turn, reservation);
  }
}

export function expireLease(turn: Turn, reservation: Reservation): void {
  rechargeReplacements(turn, reservation);
  turn.emit({ type: "expired", id: reservation.terms.id, reason: "lease" });
}

export interface DeletedSandbox {
  readonly sandboxId: string;
  readonly nodeId: string | null;
}

/**
 * Releases the confirmed, unsettled reservation of a sandbox that is gone, and remembers the id. `nodeId` is that of the
 * node whose event says so; null where a caller does.
 */
export function sandboxDeleted(core: Core, turn: Turn, { sandboxId, nodeId }: DeletedSandbox): void {
  const holder = core.ledger.holderOf(sandboxId);
  const named = core.ledger.named.get(sandboxId);
  const isNews = named === undefined || named.how === "unbound" || (named.nodeId !== null && named.nodeId !== nodeId);
  if (isNews) turn.emit({ type: "sandbox_named", sandboxId, how: "deleted", nodeId });
  if (holder?.status === "confirmed") turn.emit({ type: "released", id: holder.terms.id, reason: "deleted" });
  turn.route({ type: "deleted", sandboxId });
}
