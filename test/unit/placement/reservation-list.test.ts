import { expect, test } from "vitest";
import type { Reservation } from "../../../src/actors/placement/ledger/reservation.ts";
import { ReservationList } from "../../../src/actors/placement/ledger/reservation-list.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { pendingReservation } from "./pending-reservation.ts";

test("keeps the order in which they came, as a set does, wherever one is taken out", () => {
  const list = new ReservationList();
  const expected = new Set<Reservation>();
  const chance = seededRandom(5);
  for (let step = 0; step < 2_000; step++) {
    if (expected.size === 0 || chance.fraction() < 0.52) {
      const added = pendingReservation({ position: step });
      list.append(added);
      expected.add(added);
    } else {
      const taken = [...expected][Math.floor(chance.fraction() * expected.size)];
      if (taken === undefined) continue;
      list.remove(taken);
      expected.delete(taken);
    }
    expect(list.size).toBe(expected.size);
    expect([...list]).toEqual([...expected]);
  }
});

test("one that is in a list joins no other, and one that is not in it cannot leave it", () => {
  const [one, other] = [new ReservationList(), new ReservationList()];
  const reservation = pendingReservation();
  expect(() => one.remove(reservation)).toThrow("rs_1 is not in this list");
  one.append(reservation);
  expect(() => other.append(reservation)).toThrow("rs_1 is in a list already");
  expect(() => other.remove(reservation)).toThrow("rs_1 is not in this list");
  expect([one.size, other.size]).toEqual([1, 0]);
});
