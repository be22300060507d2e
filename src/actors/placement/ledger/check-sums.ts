/** The invariant of the ledger: charged equals the sum of the live, on every node, as exact integers. */
import { type InFlight, recount } from "./account.ts";
import type { Ledger } from "./ledger.ts";
import { isLive } from "./reservation.ts";

/** Every violation in words; empty when the sums hold. Walks all reservations: for tests and audits. */
export function violatedSums(ledger: Ledger): string[] {
  const violations: string[] = [];
  let live = 0;
  for (const reservation of ledger.reservations.values()) {
    const { account, status, terms } = reservation;
    const list = status === "pending" ? account.pending : status === "confirmed" ? account.confirmed : ledger.ended;
    if (reservation.list !== list) violations.push(`${terms.id} is ${status}, and in the wrong list`);
    if ((status === "pending") !== reservation.leaseSlot >= 0)
      violations.push(`${terms.id} is ${status}, lease slot wrong`);
    if (isLive(reservation)) live += 1;
  }
  for (const account of ledger.accounts.values()) {
    live -= account.pending.size + account.confirmed.size;
    const counted = recount(account);
    for (const name of Object.keys(counted) as (keyof InFlight)[]) {
      const kept = account.inFlight[name];
      if (kept === counted[name] && kept >= 0) continue;
      violations.push(`${account.nodeId}: ${name} is ${kept}, the live ones make ${counted[name]}`);
    }
  }
  if (live !== 0) violations.push(`${live} live reservations are on no node`);
  return violations;
}
