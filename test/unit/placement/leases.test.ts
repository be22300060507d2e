import { expect, test } from "vitest";
import { Leases } from "../../../src/actors/placement/ledger/leases.ts";
import type { Reservation } from "../../../src/actors/placement/ledger/reservation.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { pendingReservation } from "./pending-reservation.ts";

function pending(position: number, leaseMs: number): Reservation {
  return pendingReservation({ id: `rs_${position}`, position, leaseMs });
}

/** Takes all out, nearest end first. */
function drain(leases: Leases): string[] {
  const order: string[] = [];
  for (let next = leases.peek(); next !== undefined; next = leases.peek()) {
    order.push(next.terms.id);
    leases.remove(next);
  }
  return order;
}

function sorted(reservations: Iterable<Reservation>): string[] {
  return [...reservations]
    .sort((left, right) => left.leaseEndMs - right.leaseEndMs || left.position - right.position)
    .map(({ terms }) => terms.id);
}

test("leases come out nearest end first, whatever was put, moved and removed before", () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const random = seededRandom(seed);
    const below = (bound: number): number => Math.floor(random.fraction() * bound);
    const leases = new Leases();
    const running = new Set<Reservation>();
    for (let position = 1; position <= 400; position++) {
      const reservation = pending(position, below(100));
      leases.put(reservation);
      running.add(reservation);
      const any = [...running][below(running.size)];
      if (any === undefined) continue;
      if (below(3) === 0) {
        leases.remove(any);
        running.delete(any);
        expect(any.leaseSlot).toBe(-1);
      } else {
        any.leaseEndMs = below(100);
        leases.put(any);
      }
      expect(leases.peek()?.terms.id).toBe(sorted(running)[0]);
    }
    expect(leases.size).toBe(running.size);
    expect(drain(leases)).toEqual(sorted(running));
  }
});

test("removing one that is not in does nothing", () => {
  const leases = new Leases();
  const [one, two] = [pending(1, 5), pending(2, 4)];
  leases.put(one);
  leases.remove(two);
  leases.remove(one);
  leases.remove(one);
  expect([leases.size, leases.peek()]).toEqual([0, undefined]);
});
