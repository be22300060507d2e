/**
 * Inference from a node's counters and sums, for unmanaged reservations only: nobody closes them by token, so a growing
 * `create_successes` is all there is to go by. It never says which create succeeded. So each success acknowledges the
 * oldest count, the least CPU and the least memory: whichever it really was, what stays charged is at least what is
 * still to come.
 *
 *   count:        charged ── acknowledged ──▶ out of the sums
 *   CPU, memory:  charged ── acknowledged ──▶ still charged ── an increase covers it, or the second later report ──▶ out
 */
import type { Dimension } from "../events.ts";
import type { Node } from "../nodes/node.ts";
import { type Increase, markAcknowledged } from "../nodes/runtime-epoch.ts";
import type { Turn } from "../turn.ts";
import type { Account } from "./account.ts";
import { cpuChargeOf, memoryChargeOf, type Reservation } from "./reservation.ts";

/** Amounts in both dimensions. */
export interface Amounts {
  cpuMillicores: number;
  memoryBytes: number;
}

type Amount = "cpu" | "memory";
const AMOUNTS: readonly Amount[] = ["cpu", "memory"];
const ACKNOWLEDGED_AT = { cpu: "cpuAcknowledgedAt", memory: "memoryAcknowledgedAt" } as const;

// The sums of the second report after an acknowledgement contain the sandbox, whatever deletions hid of the increase.
const LATER_REPORTS = 2;

/** What of a report's increases is not for the unmanaged: every managed one that may be in it. To be asked on arrival. */
export function managedUnsettled(account: Account): Amounts {
  const sum = nothing();
  for (const reservations of [account.pending, account.confirmed]) {
    for (const reservation of reservations) if (reservation.terms.managed) addCharge(sum, reservation);
  }
  return sum;
}

export function nothing(): Amounts {
  return { cpuMillicores: 0, memoryBytes: 0 };
}

export function addCharge(sum: Amounts, reservation: Reservation): void {
  sum.cpuMillicores += cpuChargeOf(reservation);
  sum.memoryBytes += memoryChargeOf(reservation);
}

/** Counts a managed reservation among those that may explain a success of this epoch, once. */
export function countManaged(node: Node, reservation: Reservation): void {
  const { epoch } = node;
  if (!reservation.terms.managed || epoch.number === 0 || reservation.countedEpoch === epoch.number) return;
  reservation.countedEpoch = epoch.number;
  epoch.managedCounted += 1;
}

/** A cancelled one explains no success. */
export function uncountManaged(node: Node, reservation: Reservation): void {
  const { epoch } = node;
  if (epoch.number === 0 || reservation.countedEpoch !== epoch.number) return;
  reservation.countedEpoch = 0;
  epoch.managedCounted -= 1;
}

/** At the baseline of an epoch: every managed one that is open may succeed in it. */
export function countManagedAtBaseline(node: Node): void {
  for (const reservation of node.account.pending) countManaged(node, reservation);
  for (const reservation of node.account.confirmed) countManaged(node, reservation);
}

export interface AggregateReport {
  readonly increase: Increase;
  /** What the increases contain, or may contain, of others; comes off first. */
  readonly explained: Amounts;
  /** Whether the report listed a roster. */
  readonly withRoster: boolean;
}

/** At each report but the baseline of an epoch. */
export function judgeByAggregates(turn: Turn, node: Node, report: AggregateReport): void {
  const count = acknowledgeable(node, report.increase);
  if (count > 0) {
    acknowledge(turn, node, count);
    if (report.withRoster) markAcknowledged(node.epoch);
  }
  if (node.account.inFlight.unmanagedPending === 0) return;
  settleAmounts(turn, node, "cpu", report.increase.cpuMillicores - report.explained.cpuMillicores);
  settleAmounts(turn, node, "memory", report.increase.memoryBytes - report.explained.memoryBytes);
  for (const reservation of unmanagedPending(node.account)) {
    const { count: counted, cpu, memory } = reservation;
    if (counted === "settled" && cpu === "settled" && memory === "settled") {
      turn.emit({ type: "settled", id: reservation.terms.id });
    }
  }
}

/**
 * How many this report acknowledges: its successes, as far as the successes of the whole epoch exceed what managed ones
 * may explain and what was given before. Those that find nothing to acknowledge are spent.
 */
function acknowledgeable(node: Node, increase: Increase): number {
  const { epoch } = node;
  if (epoch.createSeen) return 0;
  const successes = epoch.lastSuccesses - epoch.baselineSuccesses;
  const left = successes - epoch.managedCounted - epoch.acknowledgementsGiven - epoch.surplusSpent;
  if (left <= 0) return 0;
  let open = 0;
  if (node.account.inFlight.unmanagedPending > 0) {
    for (const reservation of unmanagedPending(node.account)) if (reservation.count === "charged") open += 1;
  }
  const count = Math.min(increase.createSuccesses, left, open);
  epoch.acknowledgementsGiven += count;
  if (count === open) epoch.surplusSpent += left - count;
  return count;
}

function acknowledge(turn: Turn, node: Node, count: number): void {
  const unmanaged = unmanagedPending(node.account).sort((left, right) => left.position - right.position);
  const oldest = unmanaged.filter((reservation) => reservation.count === "charged");
  for (const reservation of oldest.slice(0, count)) emitAcknowledged(turn, reservation, "count");
  for (const amount of AMOUNTS) {
    const open = unmanaged.filter((reservation) => reservation[amount] === "charged");
    open.sort((left, right) => chargeOf(left, amount) - chargeOf(right, amount) || left.position - right.position);
    for (const reservation of open.slice(0, count)) {
      emitAcknowledged(turn, reservation, amount);
      reservation[ACKNOWLEDGED_AT[amount]] = { epoch: node.epoch.number, report: node.epoch.reports };
    }
  }
}

/** Covers acknowledged amounts, smallest first; what is left of the increase is discarded. */
function settleAmounts(turn: Turn, node: Node, amount: Amount, unexplainedIncrease: number): void {
  const acknowledged = unmanagedPending(node.account).filter((reservation) => reservation[amount] === "acknowledged");
  acknowledged.sort(
    (left, right) => chargeOf(left, amount) - chargeOf(right, amount) || left.position - right.position,
  );
  let left = unexplainedIncrease;
  for (const reservation of acknowledged) {
    const charge = chargeOf(reservation, amount);
    const covered = unexplainedIncrease > 0 && charge <= left;
    if (covered) left -= charge;
    if (covered || isOverdue(node, reservation, amount)) {
      turn.emit({ type: "dimension_settled", id: reservation.terms.id, dimension: amount });
    }
  }
}

function isOverdue(node: Node, reservation: Reservation, amount: Amount): boolean {
  const at = reservation[ACKNOWLEDGED_AT[amount]];
  return at !== null && at.epoch === node.epoch.number && node.epoch.reports >= at.report + LATER_REPORTS;
}

/**
 * When one whose count was acknowledged, but not its CPU (memory), leaves the pending: another's CPU was acknowledged in
 * its place, and may be yet to come. That of the youngest such is charged again.
 */
export function rechargeReplacements(turn: Turn, leaving: Reservation): void {
  if (leaving.count !== "settled") return;
  for (const amount of AMOUNTS) {
    if (leaving[amount] !== "charged") continue;
    let youngest: Reservation | undefined;
    for (const reservation of leaving.account.pending) {
      if (reservation === leaving || reservation.count !== "charged" || reservation[amount] === "charged") continue;
      if (youngest === undefined || reservation.position > youngest.position) youngest = reservation;
    }
    if (youngest !== undefined) turn.emit({ type: "recharged", id: youngest.terms.id, dimension: amount });
  }
}

function unmanagedPending(account: Account): Reservation[] {
  const unmanaged: Reservation[] = [];
  for (const reservation of account.pending) if (!reservation.terms.managed) unmanaged.push(reservation);
  return unmanaged;
}

function chargeOf(reservation: Reservation, amount: Amount): number {
  return amount === "cpu" ? cpuChargeOf(reservation) : memoryChargeOf(reservation);
}

function emitAcknowledged(turn: Turn, reservation: Reservation, dimension: Dimension): void {
  turn.emit({ type: "acknowledged", id: reservation.terms.id, dimension });
}
