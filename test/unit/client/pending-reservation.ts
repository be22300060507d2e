import type { Reservation } from "../../../src/client/calls.ts";

/** The scheduler's wall clock, years away from ours. */
const CREATED_MS = Date.parse("2031-01-01T00:00:00.000Z");

/** A reservation as the API answers it, whose lease ends `leaseMs` after it was made. */
export function pendingReservation(leaseMs: number, more: Partial<Reservation> = {}): Reservation {
  return {
    ...{ id: "rs_1", token: "rt_1", state: "pending", managed: true, uncertain: false, late: false },
    ...{ node_id: "node-a", sandbox_id: null, cpu: 2, memory_bytes: 0, reason: null },
    created_at: new Date(CREATED_MS).toISOString(),
    expires_at: new Date(CREATED_MS + leaseMs).toISOString(),
    ...more,
  } as Reservation;
}
