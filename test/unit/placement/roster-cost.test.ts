/** What a roster and the confirms after it cost, counted in looks at the node's listings and at what they are bound to. */
import { expect, test, vi } from "vitest";
import type { Listing } from "../../../src/actors/placement/nodes/runtime-epoch.ts";
import type { ReservationView } from "../../../src/messages/placement.ts";
import { CPU, GIB, World } from "./world.ts";

const STANDING = 500;
const NEW = 200;
const standing = Array.from({ length: STANDING }, (_, index) => `old-${index}`);
const fresh = Array.from({ length: NEW }, (_, index) => `new-${index}`);
const whole = { cpuCapacityMillicores: 10_000 * CPU, memoryCapacityBytes: 10_000 * GIB };

/** A node that has listed what stands there in four rosters, and as many open reservations as ids will come. */
function crowdedWorld(): { world: World; reservations: ReservationView[] } {
  const world = new World();
  for (let report = 0; report < 4; report++) world.report("a", whole, { sandboxIds: standing });
  return { world, reservations: fresh.map(() => world.reserve()) };
}

function countLooks(world: World): () => number {
  const { fleet, ledger } = world.placement.core;
  const listings = fleet.nodes.get("a")?.epoch.listings ?? new Map<string, Listing>();
  let looks = 0;
  Object.defineProperty(listings, Symbol.iterator, {
    *value() {
      for (const entry of listings.entries()) {
        looks += 1;
        yield entry;
      }
    },
  });
  const holders = vi.spyOn(ledger, "holderOf");
  return () => looks + holders.mock.calls.length;
}

/** Sums that contain what stands there and so many of the new ones. */
function sums(count: number) {
  return { ...whole, allocatedCpuMillicores: count * CPU, allocatedMemoryBytes: count * GIB };
}

test("a roster looks at each of its ids once, however many confirmed reservations it judges", () => {
  const { world, reservations } = crowdedWorld();
  for (const [at, reservation] of reservations.entries()) world.confirm(reservation, fresh[at] ?? "");
  const looks = countLooks(world);
  world.report("a", sums(NEW - 1), { sandboxIds: [...standing, ...fresh] });
  expect(world.node("a").reservations.confirmed).toBe(NEW);
  expect(looks()).toBeLessThanOrEqual(STANDING + 2 * NEW);
});

test("so do all confirms after a roster together, and the last of them settles", () => {
  for (const order of [reservationsInOrder, reservationsBackwards]) {
    const { world, reservations } = crowdedWorld();
    world.report("a", sums(NEW), { sandboxIds: [...standing, ...fresh] });
    const looks = countLooks(world);
    const bound = order(reservations).map(({ reservation, sandboxId }) => world.confirm(reservation, sandboxId));
    expect(bound.map(({ state }) => state)).toEqual([...Array(NEW - 1).fill("confirmed"), "settled"]);
    // Each confirm asks once itself whom the id belongs to.
    expect(looks()).toBeLessThanOrEqual(STANDING + 5 * NEW);
  }
});

function reservationsInOrder(reservations: readonly ReservationView[]) {
  return reservations.map((reservation, at) => ({ reservation, sandboxId: fresh[at] ?? "" }));
}

function reservationsBackwards(reservations: readonly ReservationView[]) {
  return reservationsInOrder(reservations).reverse();
}
