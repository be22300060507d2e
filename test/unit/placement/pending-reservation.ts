import { newAccount } from "../../../src/actors/placement/ledger/account.ts";
import { newReservation } from "../../../src/actors/placement/ledger/record.ts";
import type { Reservation } from "../../../src/actors/placement/ledger/reservation.ts";

interface Made {
  readonly id?: string;
  readonly token?: string | null;
  readonly position?: number;
  readonly leaseMs?: number;
}

/** One that nobody keeps, for tests of what keeps them. */
export function pendingReservation({
  id = "rs_1",
  token = null,
  position = 1,
  leaseMs = 1_000,
}: Made = {}): Reservation {
  const terms = {
    id,
    token,
    nodeId: "a",
    managed: true,
    hint: "new_sandbox",
    demandCpuMillicores: null,
    demandMemoryBytes: null,
    chargeCpuMillicores: 0,
    chargeMemoryBytes: 0,
    requestKey: null,
  } as const;
  return newReservation(newAccount("a"), terms, leaseMs, { nowMs: 0, wallMs: 0, position });
}
