/** Reservations as they are shown. */
import type { ReservationView } from "../../../messages/placement.ts";
import { chargedCpu, chargedMemory, type Reservation } from "./reservation.ts";

/** `withToken` only in the answer of the schedule that made it, in its repeats, and for a call that presents it. */
export function viewOf(reservation: Reservation, withToken: boolean): ReservationView {
  const { terms, status, createdAtWallMs } = reservation;
  const leaseMs = reservation.leaseEndMs - reservation.createdAtMs;
  return {
    id: terms.id,
    token: withToken ? terms.token : null,
    state: status,
    managed: terms.managed,
    uncertain: status === "pending" && reservation.uncertain,
    late: reservation.late,
    nodeId: terms.nodeId,
    sandboxId: reservation.sandboxId,
    cpuMillicores: chargedCpu(reservation),
    memoryBytes: chargedMemory(reservation),
    createdAtUnixMs: Math.round(createdAtWallMs),
    expiresAtUnixMs: status === "pending" ? Math.round(createdAtWallMs + leaseMs) : null,
    reason: reservation.reason,
  };
}
