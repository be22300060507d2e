import { describe, expect, test } from "vitest";
import { KnownReservations } from "../../../src/actors/placement/ledger/known-reservations.ts";
import { NameMint, NO_NUMBER, numberOf } from "../../../src/actors/placement/ledger/names.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { pendingReservation } from "./pending-reservation.ts";
import { World } from "./world.ts";

describe("names", () => {
  test("are numbered in the order of making, over many blocks, the same in id and token", () => {
    const mint = new NameMint(seededRandom(1));
    for (let number = 0; number < 1_000; number++) {
      const { id, token } = mint.next();
      expect([numberOf(id), numberOf(token)]).toEqual([number, number]);
      expect(token.slice(3, 20)).toBe(id.slice(3));
    }
  });

  test("go on behind the number they are told, and never back", () => {
    const mint = new NameMint(seededRandom(1));
    mint.next();
    mint.continueAfter(2 ** 40);
    expect(numberOf(mint.next().id)).toBe(2 ** 40 + 1);
    mint.continueAfter(5);
    expect(numberOf(mint.next().id)).toBeGreaterThan(2 ** 40 + 1);
  });

  test("begin anew after the last number", () => {
    const mint = new NameMint(seededRandom(1));
    mint.continueAfter(2 ** 42 - 2);
    expect([numberOf(mint.next().id), numberOf(mint.next().token)]).toEqual([2 ** 42 - 1, 0]);
    mint.continueAfter(2 ** 42 - 1);
    expect(numberOf(mint.next().id)).toBeLessThan(1_000);
  });

  test("the first 8 characters of a token, which logs carry, are random", () => {
    const mint = new NameMint(seededRandom(1));
    const heads = new Set(Array.from({ length: 1_000 }, () => mint.next().token.slice(0, 8)));
    expect(heads.size).toBe(1_000);
  });

  test("with the same number, but of another scheduler, is another name", () => {
    const [mine, theirs] = [new NameMint(seededRandom(1)).next(), new NameMint(seededRandom(2)).next()];
    expect(numberOf(mine.id)).toBe(numberOf(theirs.id));
    const world = new World();
    world.report("a");
    const { id, token } = world.reserve();
    const forged = `${theirs.id.slice(0, 13)}${id.slice(13)}`;
    expect(numberOf(forged)).toBe(numberOf(id));
    expect(world.refusal({ type: "get_reservation", handle: forged }).code).toBe("not_found");
    const forgedToken = `${token?.slice(0, 20)}${theirs.token.slice(20)}`;
    expect(world.refusal({ type: "get_reservation", handle: forgedToken }).code).toBe("not_found");
  });

  test("a text that is no name has no number", () => {
    for (const text of ["", "rs_", "rs_1", "rt_none", `rs_${"ä".repeat(17)}`, `rs_${" ".repeat(17)}`]) {
      expect(numberOf(text)).toBe(NO_NUMBER);
    }
  });
});

describe("known reservations", () => {
  function idOf(number: number): string {
    const mint = new NameMint(seededRandom(number));
    mint.continueAfter(number - 1);
    return mint.next().id;
  }

  test("keep what a map would, in the order of making, whatever is forgotten in between", () => {
    const known = new KnownReservations();
    const expected = new Map<string, ReturnType<typeof pendingReservation>>();
    const mint = new NameMint(seededRandom(3));
    const chance = seededRandom(4);
    for (let step = 0; step < 5_000; step++) {
      const added = pendingReservation({ id: mint.next().id, position: step });
      known.add(added);
      expected.set(added.terms.id, added);
      // Now and then all but one, so that whole pages go.
      if (step % 700 === 699) {
        for (const reservation of [...expected.values()].slice(1)) {
          known.delete(reservation);
          expected.delete(reservation.terms.id);
        }
      } else if (chance.fraction() < 0.5) {
        const [oldest] = expected.values();
        if (oldest !== undefined) {
          known.delete(oldest);
          expected.delete(oldest.terms.id);
          expect(known.get(oldest.terms.id)).toBeUndefined();
        }
      }
      expect(known.size).toBe(expected.size);
    }
    expect([...known.values()]).toEqual([...expected.values()]);
    for (const [id, reservation] of expected) expect(known.get(id)).toBe(reservation);
  });

  test("keep another name of the same number, and one without a number, beside", () => {
    const known = new KnownReservations();
    const mint = new NameMint(seededRandom(99));
    mint.continueAfter(6);
    const { id, token } = mint.next();
    const first = pendingReservation({ id: idOf(7), position: 2 });
    const second = pendingReservation({ id, token, position: 3 });
    const strange = pendingReservation({ id: "rs_5Oh4o-_EHFX8", token: "rt_5Oh4o-_EHFX8_and_more", position: 1 });
    known.add(first);
    expect([known.get(id), known.holding(token)]).toEqual([undefined, undefined]);
    known.delete(second);
    expect(known.size).toBe(1);
    known.add(second);
    known.add(strange);
    expect([...known.values()]).toEqual([strange, first, second]);
    for (const each of [first, second, strange]) expect(known.get(each.terms.id)).toBe(each);
    expect([known.holding(token), known.holding("rt_5Oh4o-_EHFX8_and_more")]).toEqual([second, strange]);
    expect(() => known.add(strange)).toThrow("rs_5Oh4o-_EHFX8 is known already");
    known.delete(second);
    known.delete(strange);
    expect([known.holding(token), known.get(strange.terms.id), known.size]).toEqual([undefined, undefined, 1]);
  });
});

test("a log of names of another form is replayed, and its tokens go on to work", () => {
  const world = new World();
  world.report("a");
  const [id, token] = ["rs_5Oh4o-_EHFX8", "rt_5Oh4o-_EHFX8u9pQmR2sT4vW6xY8zA1bC3"];
  const made = world.reserve();
  const events = JSON.parse(
    JSON.stringify(world.events)
      .replaceAll(made.token ?? "", token)
      .replaceAll(made.id, id),
  );
  world.events = events;
  const again = world.restart();
  again.report("a");
  expect(again.ask({ type: "confirm", handle: token, sandboxId: "s1", force: false }).reservation).toMatchObject({
    id,
    state: "confirmed",
  });
  expect(again.reserve().id).not.toBe(id);
});

test("after a replay names go on behind all that were ever made, also behind forgotten ones", () => {
  const world = new World({ rememberedMax: 1 });
  world.report("a");
  const made = Array.from({ length: 20 }, () => world.cancel(world.reserve()));
  const again = world.restart();
  again.report("a");
  expect(numberOf(again.reserve().id)).toBeGreaterThan(numberOf(made.at(-1)?.id ?? ""));
});
