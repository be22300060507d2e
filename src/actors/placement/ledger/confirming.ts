/**
 * Confirm: the caller's create succeeded, and this is the sandbox. A sandbox id binds once. What inference bound is taken
 * back or replaced, since a token knows better; nothing else of another's reservation is touched.
 */
import { type Refusal, refuse } from "../../../messages/errors.ts";
import { misfit } from "../candidates.ts";
import { type Core, nodeOf } from "../core.ts";
import { noteSuccess } from "../nodes/demotion.ts";
import { listedStreak } from "../nodes/runtime-epoch.ts";
import type { Turn } from "../turn.ts";
import { countManaged, rechargeReplacements } from "./aggregates.ts";
import { type Closing, conflict, expireLease } from "./closing.ts";
import { judgeConfirmed } from "./identity.ts";
import type { NamedSandbox } from "./ledger.ts";
import { cpuSizeOf, memorySizeOf, type Reservation } from "./reservation.ts";

export interface Confirmation {
  readonly sandboxId: string;
  readonly force: boolean;
}

export function confirm(core: Core, turn: Turn, reservation: Reservation, confirmation: Confirmation): Closing {
  const { sandboxId } = confirmation;
  const known = alreadyAnswered(turn, reservation, sandboxId);
  if (known !== null) return known;

  const how = howNamed(core, reservation, sandboxId);
  const deleted = how === "deleted";
  if (how === "forked") return conflict(reservation, `sandbox ${sandboxId} is a fork of another`);
  const holder = core.ledger.holderOf(sandboxId);
  const taken = holder !== undefined && holder !== reservation ? holder : null;
  if (taken !== null && !taken.provisional) return boundElsewhere(reservation, taken);

  const late = reservation.status === "expired";
  if (late && !deleted) {
    const refusal = refuseLate(core, reservation, confirmation);
    if (refusal !== null) return { refusal };
  }
  if (taken !== null) takeBack(core, turn, taken);
  bindTo(core, turn, reservation, { sandboxId, late, deleted });
  if (late) turn.notice({ type: "late_confirmation", nodeId: reservation.terms.nodeId, forced: confirmation.force });
  return { repeated: false };
}

/** What is said of the id. A node's events speak for its own sandboxes only, a caller for all. */
function howNamed(core: Core, { terms }: Reservation, sandboxId: string): NamedSandbox["how"] | null {
  const named = core.ledger.named.get(sandboxId);
  if (named === undefined || (named.nodeId !== null && named.nodeId !== terms.nodeId)) return null;
  return named.how;
}

/** A repeat, or a conflict that no id could change; null when it is to be decided. */
function alreadyAnswered(turn: Turn, reservation: Reservation, sandboxId: string): Closing | null {
  const { status } = reservation;
  if (status === "pending") return null;
  if (status === "cancelled") return conflict(reservation, "cannot confirm: it is cancelled");
  const same = reservation.sandboxId === sandboxId;
  if (status === "expired") {
    const open = same || reservation.sandboxId === null || reservation.provisional;
    return open ? null : conflict(reservation, "it was confirmed with another sandbox");
  }
  if (reservation.reason === "rebooted") return conflict(reservation, "cannot confirm: its node was rebooted");
  if (same) {
    if (reservation.provisional) turn.emit({ type: "affirmed", id: reservation.terms.id });
    return { repeated: true };
  }
  if (reservation.provisional && reservation.reason !== "node_gone") return null;
  return conflict(
    reservation,
    reservation.sandboxId === null ? `cannot confirm: it is ${status}` : "it is confirmed with another sandbox",
  );
}

function boundElsewhere(reservation: Reservation, holder: Reservation): Closing {
  return {
    refusal: refuse("conflict", "the sandbox belongs to another reservation", {
      state: reservation.status,
      bound_to: holder.terms.id,
    }),
  };
}

/**
 * A confirm after the lease: nothing to ask if the node's newest roster lists the sandbox; else it is admitted again if
 * it fits. Cordon, conditions and silence refuse nothing that already exists.
 */
function refuseLate(core: Core, reservation: Reservation, { sandboxId, force }: Confirmation): Refusal | null {
  const node = nodeOf(core, reservation);
  const details = { state: reservation.status };
  if (node === undefined) return refuse("expired", "it has expired, and its node is gone", details);
  // Listings of a former instance are kept for inference; they are no roster of this one.
  if (listedStreak(node.epoch, sandboxId) > 0 || force) return null;
  const { demandCpuMillicores, demandMemoryBytes } = reservation.terms;
  // An orphan that is confirmed again is of the size that a CREATE event told; another sandbox need not be.
  const demand =
    reservation.sandboxId === sandboxId
      ? { cpuMillicores: cpuSizeOf(reservation), memoryBytes: memorySizeOf(reservation) }
      : { cpuMillicores: demandCpuMillicores, memoryBytes: demandMemoryBytes };
  const reason = misfit(node, demand, core.config);
  return reason === null ? null : refuse("expired", `it has expired, and its node has no room: ${reason}`, details);
}

/** The other is pending again, with its charge and lease, or expired if that is over. */
function takeBack(core: Core, turn: Turn, taken: Reservation): void {
  const node = nodeOf(core, taken);
  const gone = node === undefined || taken.reason === "node_gone";
  turn.emit({ type: "unbound", id: taken.terms.id });
  if (node !== undefined) countManaged(node, taken);
  // One whose node is gone has nowhere to be pending.
  if (taken.leaseEndMs <= turn.now.nowMs || gone) expireLease(turn, taken);
}

interface Binding {
  readonly sandboxId: string;
  readonly late: boolean;
  readonly deleted: boolean;
}

function bindTo(core: Core, turn: Turn, reservation: Reservation, { sandboxId, late, deleted }: Binding): void {
  const { terms } = reservation;
  if (reservation.status === "pending") rechargeReplacements(turn, reservation);
  const same = reservation.sandboxId === sandboxId;
  turn.emit({
    type: "confirmed",
    id: terms.id,
    sandboxId,
    late,
    provisional: false,
    filledCpuMillicores: same ? reservation.filledCpuMillicores : null,
    filledMemoryBytes: same ? reservation.filledMemoryBytes : null,
  });
  const node = nodeOf(core, reservation);
  if (node !== undefined) {
    countManaged(node, reservation);
    noteSuccess(node);
  }
  if (deleted) {
    turn.emit({ type: "released", id: terms.id, reason: "deleted" });
    return;
  }
  turn.route({ type: "assigned", sandboxId, nodeId: terms.nodeId, source: "confirm" });
  if (node !== undefined) judgeConfirmed(core, turn, node, reservation);
}
