/**
 * Settling by identity: when the node's own sums contain a confirmed sandbox, its reservation leaves them. And the
 * opposite: a confirmed sandbox that rosters keep lacking is an orphan.
 *
 * Nodes read their sums a moment before their roster. So an id that is new in a roster may not be in the sums beside it;
 * an id that the previous roster listed too is.
 */
import type { Accounting } from "../../../messages/nodes.ts";
import type { Core } from "../core.ts";
import type { Node } from "../nodes/node.ts";
import { listedStreak } from "../nodes/runtime-epoch.ts";
import type { Turn } from "../turn.ts";
import { coversNewcomers } from "./newcomers.ts";
import type { Reservation } from "./reservation.ts";

// Two snapshots closer than this may be one reading of the node, sent twice.
const SNAPSHOTS_APART_MS_MIN = 1_000;

export function accountingOf(node: Node): Accounting {
  if (node.ledger) return "ledger";
  return node.epoch.rosters > 0 ? "roster" : "sums";
}

/** At a confirm: one whose sandbox the rosters already list may be contained at once. */
export function judgeConfirmed(core: Core, turn: Turn, node: Node, reservation: Reservation): void {
  reservation.confirmEpoch = node.epoch.number;
  if (accountingOf(node) !== "roster") return;
  const streak = listedStreak(node.epoch, reservation.sandboxId ?? "");
  if (streak === 0) return;
  if (streak > 1 || coversNewcomers(core.ledger, node)) settleProven(turn, node, reservation);
}

/** At a snapshot of a node that sends no rosters: by the second snapshot after the confirm. Returns what it settled. */
export function judgeBySums(turn: Turn, node: Node): Reservation[] {
  const contained: Reservation[] = [];
  for (const reservation of [...node.account.confirmed]) {
    if (reservation.firstSnapshotAtMs === null) reservation.firstSnapshotAtMs = turn.now.nowMs;
    else if (turn.now.nowMs - reservation.firstSnapshotAtMs >= SNAPSHOTS_APART_MS_MIN) {
      contained.push(reservation);
    }
  }
  for (const reservation of contained) turn.emit({ type: "settled", id: reservation.terms.id });
  return contained;
}

/** At a roster: settle what it contains, and end what it has long lacked. Returns what it settled. */
export function judgeByRoster(core: Core, turn: Turn, node: Node): Reservation[] {
  const contained: Reservation[] = [];
  // Asked at most once: nothing below binds or unbinds an id.
  let covered: boolean | null = null;
  for (const reservation of [...node.account.confirmed]) {
    const streak = listedStreak(node.epoch, reservation.sandboxId ?? "");
    if (streak === 0) {
      judgeMissing(core, turn, node, reservation);
      continue;
    }
    if (streak === 1) covered ??= coversNewcomers(core.ledger, node);
    if (streak > 1 || covered === true) contained.push(reservation);
  }
  for (const reservation of contained) settleProven(turn, node, reservation);
  return contained;
}

/** The newest roster proves that the sums beside it contain the sandbox. */
function settleProven(turn: Turn, { epoch }: Node, reservation: Reservation): void {
  turn.emit({ type: "settled", id: reservation.terms.id });
  reservation.provenEpoch = epoch.number;
  reservation.provenRoster = epoch.rosters;
}

/** Two rosters must lack it, unless the runtime was restarted since: then what ran before is gone. */
function judgeMissing(core: Core, turn: Turn, node: Node, reservation: Reservation): void {
  const { confirmEpoch, confirmedAtMs } = reservation;
  const restarted = confirmEpoch > 0 && node.epoch.number > confirmEpoch;
  const sinceConfirmMs = turn.now.nowMs - (confirmedAtMs ?? turn.now.nowMs);
  if (sinceConfirmMs >= core.config.confirmedUnseenTtlMs && (restarted || reservation.rosterMisses > 0)) {
    turn.emit({ type: "expired", id: reservation.terms.id, reason: "orphaned" });
    turn.notice({ type: "orphaned_confirmation", nodeId: node.nodeId });
    return;
  }
  reservation.rosterMisses += 1;
}
