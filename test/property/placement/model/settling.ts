/** placement.md, 5.2 and 5.3: when a confirmed reservation leaves the sums, and when it ends as an orphan. */
import type { ModelNode, ModelReservation, ModelState } from "./facts.ts";
import { DIMENSIONS } from "./facts.ts";

/** "the second snapshot … that arrives at least 1 s after the first." */
const SECOND_SNAPSHOT_AFTER_MS = 1000;

function confirmedOf(state: ModelState, node: ModelNode): ModelReservation[] {
  return state.reservations.filter(({ nodeId, state: status }) => nodeId === node.nodeId && status === "confirmed");
}

/** Judges the newest of the node's rosters, which has just come. */
export function judgeRoster(state: ModelState, node: ModelNode, nowMs: number): void {
  const roster = node.rosters.at(-1) ?? [];
  for (const reservation of confirmedOf(state, node)) {
    const { sandboxId } = reservation;
    if (sandboxId === null) continue;
    if (!roster.includes(sandboxId)) judgeAbsence(state, node, reservation, nowMs);
    else if (isInTheSums(state, node, reservation)) settleBy(roster, reservation);
  }
}

/** "when its id is listed and either the increase … covers …; or the id was in the previous roster too." */
function isInTheSums(state: ModelState, node: ModelNode, reservation: ModelReservation): boolean {
  const { sandboxId } = reservation;
  const [newest, previous] = [node.rosters.at(-1) ?? [], node.rosters.at(-2) ?? []];
  if (sandboxId === null || !newest.includes(sandboxId)) return false;
  return previous.includes(sandboxId) || isCovered(state, node);
}

/**
 * "the increase of allocated + paused since the previous report covers, in each known dimension, every id of this roster
 * that was not in both of the last two rosters, all of them of known size (bound to a reservation)". The last two are
 * those before this one: an id first seen in the previous roster may have been missing from the sums read before it.
 * An id enters both sums together, so that a dimension in which every one of them is known proves both; what is known of
 * the other must be covered all the same. Beyond the letter: an id that settled by the previous roster was in the sums
 * beside it, and is no part of what they grew by since.
 */
function isCovered(state: ModelState, node: ModelNode): boolean {
  const increase = node.rosterIncrease;
  if (increase === null) return false;
  const [newest, last, lastButOne] = [node.rosters.at(-1) ?? [], node.rosters.at(-2) ?? [], node.rosters.at(-3) ?? []];
  const isProven = (id: string): boolean =>
    state.reservations.some(({ sandboxId, provenBy }) => sandboxId === id && provenBy === last);
  const fresh = newest.filter((id) => !(last.includes(id) && (lastButOne.includes(id) || isProven(id))));
  const sizes = fresh.map((id) => state.reservations.find(({ sandboxId }) => sandboxId === id)?.size);
  if (sizes.includes(undefined)) return false;
  const isKnown = (dimension: "cpu" | "memory"): boolean => sizes.every((size) => (size?.[dimension] ?? null) !== null);
  const isPaid = (dimension: "cpu" | "memory"): boolean =>
    increase[dimension] >= sizes.reduce((sum, size) => sum + (size?.[dimension] ?? 0), 0);
  return DIMENSIONS.some(isKnown) && DIMENSIONS.every(isPaid);
}

function settleBy(roster: readonly string[], reservation: ModelReservation): void {
  reservation.state = "settled";
  reservation.provenBy = roster;
}

/** 5.3: "only when a roster that arrives at least `confirmed_unseen_ttl` after the confirm lacks it, and an earlier one
 * since the confirm did too (of a newer instance: one is enough)." */
function judgeAbsence(state: ModelState, node: ModelNode, reservation: ModelReservation, nowMs: number): void {
  const oldEnough = nowMs - reservation.confirmedMs >= state.config.confirmedUnseenTtlMs;
  // Newer than one that was known: the first instance heard of may have been there before the confirm.
  const newerInstance = reservation.instancesAtConfirm > 0 && node.instances > reservation.instancesAtConfirm;
  if (oldEnough && (reservation.lacked || newerInstance)) {
    reservation.state = "expired";
    reservation.reason = "orphaned";
  }
  reservation.lacked = true;
}

/** A snapshot has just come, on whatever kind of node; only a sums node settles by it. */
export function judgeSnapshot(state: ModelState, node: ModelNode, nowMs: number): void {
  for (const reservation of confirmedOf(state, node)) {
    if (node.rosterInEpoch) continue;
    if (reservation.firstSnapshotMs === null) reservation.firstSnapshotMs = nowMs;
    else if (nowMs - reservation.firstSnapshotMs >= SECOND_SNAPSHOT_AFTER_MS) {
      reservation.state = "settled";
    }
  }
}

/** "Judged at each roster and at the confirm: an id that both of the last two rosters list settles at once." */
export function judgeConfirm(state: ModelState, node: ModelNode, reservation: ModelReservation): void {
  if (!node.ledger && isInTheSums(state, node, reservation)) settleBy(node.rosters.at(-1) ?? [], reservation);
}
