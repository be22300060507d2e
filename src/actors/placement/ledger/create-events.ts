/**
 * Inference from CREATE events, for unmanaged and uncertain reservations only. An event names a sandbox and its shape; it
 * binds the oldest reservation of that shape on that node, provisionally: a confirm by token knows better.
 */
import type { SandboxEvent } from "../../../messages/nodes.ts";
import type { Core } from "../core.ts";
import { noteSuccess } from "../nodes/demotion.ts";
import type { Node } from "../nodes/node.ts";
import { listingOf } from "../nodes/runtime-epoch.ts";
import type { Turn } from "../turn.ts";
import { rechargeReplacements } from "./aggregates.ts";
import { judgeConfirmed } from "./identity.ts";
import { cpuSizeOf, isInferable, memorySizeOf, type Reservation } from "./reservation.ts";

interface Shape {
  /** Null: the event does not say. */
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number | null;
}

/** Binds one reservation, or none. */
export function inferFromCreate(core: Core, turn: Turn, node: Node, event: SandboxEvent): void {
  const { sandboxId } = event;
  const { ledger } = core;
  if (ledger.isKnown(sandboxId)) return;
  const listing = listingOf(node.epoch, sandboxId);
  if (listing?.acknowledged) return;
  const shape: Shape = {
    cpuMillicores: event.requestedCpuMillicores || null,
    memoryBytes: event.requestedMemoryBytes || null,
  };
  const reservation = oldestOfShape(node, shape, listing?.firstPosition ?? turn.position);
  if (reservation === undefined) return;
  rechargeReplacements(turn, reservation);
  turn.emit({
    type: "confirmed",
    id: reservation.terms.id,
    sandboxId,
    late: false,
    provisional: true,
    filledCpuMillicores: cpuSizeOf(reservation) === null ? shape.cpuMillicores : null,
    filledMemoryBytes: memorySizeOf(reservation) === null ? shape.memoryBytes : null,
  });
  noteSuccess(node);
  judgeConfirmed(core, turn, node, reservation);
}

/** Exact shapes before those with an unknown dimension, then the oldest; none made after the id was first listed. */
function oldestOfShape(node: Node, shape: Shape, madeBeforePosition: number): Reservation | undefined {
  let best: Reservation | undefined;
  let bestIsExact = false;
  for (const reservation of node.account.pending) {
    if (!isInferable(reservation) || reservation.position >= madeBeforePosition) continue;
    const match = matchShape(reservation, shape);
    if (match === null) continue;
    const exact = match === "exact";
    if (best !== undefined && bestIsExact && !exact) continue;
    if (best === undefined || (exact && !bestIsExact) || reservation.position < best.position) {
      best = reservation;
      bestIsExact = exact;
    }
  }
  return best;
}

function matchShape(reservation: Reservation, shape: Shape): "exact" | "open" | null {
  const cpu = cpuSizeOf(reservation);
  const memory = memorySizeOf(reservation);
  if (cpu !== null && cpu !== shape.cpuMillicores) return null;
  if (memory !== null && memory !== shape.memoryBytes) return null;
  return cpu === shape.cpuMillicores && memory === shape.memoryBytes ? "exact" : "open";
}
