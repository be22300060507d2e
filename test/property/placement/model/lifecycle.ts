/** placement.md, section 4: what each call by handle does to a reservation, and what it answers. */
import type { ErrorCode } from "../../../../src/messages/errors.ts";
import type { Cancel, Confirm } from "../../../../src/messages/placement.ts";
import { outByCapacity } from "./candidates.ts";
import type { ModelReservation, ModelState } from "./facts.ts";
import { judgeConfirm } from "./settling.ts";

export type Verdict = "changed" | "repeated" | ErrorCode;

/** "A lease ends at its instant (`now ≥ expires_at` is over), judged at every decision." */
export function endLeases(state: ModelState, nowMs: number): void {
  for (const reservation of state.reservations) {
    if (reservation.state !== "pending" || nowMs < reservation.leaseEndMs) continue;
    reservation.state = "expired";
    reservation.reason = "lease";
  }
}

export function confirm(state: ModelState, reservation: ModelReservation, message: Confirm, nowMs: number): Verdict {
  const { sandboxId } = message;
  if (reservation.sandboxId === sandboxId && reservation.reason !== "orphaned") {
    // "The same confirm again gives the same answer"; "a confirm of one [rebooted] is then a conflict".
    if (reservation.reason === "rebooted") return "conflict";
    reservation.provisional = false;
    return "repeated";
  }
  const mayBind =
    reservation.state === "pending" ||
    reservation.provisional ||
    (reservation.state === "expired" && (reservation.sandboxId ?? sandboxId) === sandboxId);
  if (!mayBind) return "conflict";
  // "A sandbox id binds once", "except to take back an inferred binding (5.4)".
  const other = state.reservations.find((one) => one !== reservation && one.sandboxId === sandboxId);
  if (other !== undefined && !other.provisional) return "conflict";
  if (state.forked.has(sandboxId)) return "conflict";

  if (reservation.provisional && reservation.sandboxId !== sandboxId) forgetTheFill(reservation);
  const late = reservation.state === "expired";
  if (state.deleted.has(sandboxId)) {
    // "A confirm with an id already deleted ends as `released` at once."
    if (other !== undefined) unbind(other, nowMs);
    bind(state, reservation, { sandboxId, nowMs, late, provisional: false });
    reservation.state = "released";
    reservation.reason = "deleted";
    return "changed";
  }
  if (late && !message.force && !isListed(state, reservation, sandboxId)) {
    const node = state.nodes.get(reservation.nodeId);
    // "it is admitted again, in the same step, if step 6 still holds."
    if (node !== undefined && outByCapacity(state, node, reservation.size) !== null) return "expired";
  }
  if (other !== undefined) unbind(other, nowMs);
  bind(state, reservation, { sandboxId, nowMs, late, provisional: false });
  return "changed";
}

function isListed(state: ModelState, reservation: ModelReservation, sandboxId: string): boolean {
  return state.nodes.get(reservation.nodeId)?.newestRoster.includes(sandboxId) ?? false;
}

/** Makes it confirmed; settles it at once where two rosters show it. Clears the demotion of the node. */
export function bind(
  state: ModelState,
  reservation: ModelReservation,
  how: {
    readonly sandboxId: string;
    readonly nowMs: number;
    readonly late: boolean;
    readonly provisional: boolean;
  },
): void {
  const node = state.nodes.get(reservation.nodeId);
  reservation.state = "confirmed";
  reservation.reason = null;
  reservation.sandboxId = how.sandboxId;
  reservation.late ||= how.late;
  reservation.provisional = how.provisional;
  reservation.confirmedMs = how.nowMs;
  reservation.instancesAtConfirm = node?.instances ?? 0;
  reservation.lacked = false;
  reservation.provenBy = null;
  reservation.firstSnapshotMs = null;
  if (how.provisional) state.inferred.add(how.sandboxId);
  if (node === undefined) return;
  // "a confirm clears it."
  node.failuresMs = [];
  node.demotedUntilMs = Number.NEGATIVE_INFINITY;
  judgeConfirm(state, node, reservation);
}

/** "the other is pending again with its charge and lease, or expired if that is over." */
function unbind(reservation: ModelReservation, nowMs: number): void {
  const over = nowMs >= reservation.leaseEndMs;
  reservation.state = over ? "expired" : "pending";
  reservation.reason = over ? "lease" : null;
  reservation.sandboxId = null;
  reservation.provisional = false;
  forgetTheFill(reservation);
}

/** What the sandbox of a wrong binding had filled in goes with the binding. */
function forgetTheFill(reservation: ModelReservation): void {
  reservation.size = reservation.asked;
  reservation.charge = reservation.firstCharge;
}

export function cancel(state: ModelState, reservation: ModelReservation, message: Cancel, nowMs: number): Verdict {
  if (reservation.state === "cancelled" || reservation.state === "expired") return "repeated";
  if (reservation.state !== "pending") return "conflict";
  reservation.state = "cancelled";
  reservation.reason = message.reason;
  if (message.reason === "refused" || message.reason === "failed") countFailure(state, reservation.nodeId, nowMs);
  return "changed";
}

/** "five failed outcomes within 5 min and no confirm between rank a node behind all others for 60 s." */
function countFailure(state: ModelState, nodeId: string, nowMs: number): void {
  const node = state.nodes.get(nodeId);
  if (node === undefined) return;
  const { failures, withinMs, forMs } = state.config.demotion;
  node.failuresMs = [...node.failuresMs.filter((atMs) => nowMs - atMs <= withinMs), nowMs];
  if (node.failuresMs.length >= failures) node.demotedUntilMs = nowMs + forMs;
}

export function renew(state: ModelState, reservation: ModelReservation, nowMs: number): Verdict {
  if (reservation.state !== "pending") return "conflict";
  const { placementReservationTtlMs, maxReservationAgeMs } = state.config;
  reservation.leaseEndMs = Math.min(nowMs + placementReservationTtlMs, reservation.createdMs + maxReservationAgeMs);
  reservation.uncertain = false;
  return "changed";
}

export function markUncertain(state: ModelState, reservation: ModelReservation, nowMs: number): Verdict {
  if (reservation.state !== "pending") return "conflict";
  if (reservation.uncertain) return "repeated";
  reservation.uncertain = true;
  const onLedger = state.nodes.get(reservation.nodeId)?.ledger ?? false;
  // 5.2: on a ledger node it "ends by its caller, an operator or `max_reservation_age` here, not by its lease".
  reservation.leaseEndMs = onLedger
    ? reservation.createdMs + state.config.maxReservationAgeMs
    : Math.min(reservation.leaseEndMs, nowMs + state.config.uncertainTtlMs);
  return "changed";
}

/** "A schedule whose answer could not be delivered is cancelled …; with a request_id it is marked uncertain instead." */
export function undelivered(state: ModelState, reservation: ModelReservation, nowMs: number): void {
  if (reservation.state !== "pending") return;
  if (reservation.requestKey !== null) {
    markUncertain(state, reservation, nowMs);
    return;
  }
  reservation.state = "cancelled";
}

/** "A DELETE event, or `DELETE /v1/sandboxes/{id}`, of a confirmed, unsettled one releases it." */
export function sandboxDeleted(state: ModelState, sandboxId: string): void {
  state.deleted.add(sandboxId);
  for (const reservation of state.reservations) {
    if (reservation.sandboxId !== sandboxId || reservation.state !== "confirmed") continue;
    reservation.state = "released";
    reservation.reason = "deleted";
  }
}
