import { expect, test } from "vitest";
import { UnderWay } from "../../../src/actors/kernel/under-way.ts";

const thing = (name: string): { readonly name: string } => ({ name });

test("gives a number for each thing, and the thing back for its number, once", () => {
  const underWay = new UnderWay<{ readonly name: string }>();
  const [a, b] = [underWay.add(thing("a")), underWay.add(thing("b"))];
  expect([underWay.take(b), underWay.take(b), underWay.take(a), underWay.take(99)]).toEqual([
    thing("b"),
    null,
    thing("a"),
    null,
  ]);
});

test("gives numbers anew, so that there are no more than things were in at a time", () => {
  const underWay = new UnderWay<object>();
  const numbers = new Set<number>();
  for (let round = 0; round < 1_000; round++) {
    const taken = [underWay.add({}), underWay.add({}), underWay.add({})];
    for (const number of taken) numbers.add(number);
    for (const number of taken) underWay.take(number);
  }
  expect([...numbers].sort()).toEqual([0, 1, 2]);
});

test("takes all of them, and has room for them again", () => {
  const underWay = new UnderWay<{ readonly name: string }>();
  const first = underWay.add(thing("a"));
  underWay.add(thing("b"));
  underWay.take(first);
  underWay.add(thing("c"));
  expect(underWay.takeAll().map(({ name }) => name)).toEqual(["c", "b"]);
  expect(underWay.takeAll()).toEqual([]);
});

test("shows those that are under way, and none of what was taken", () => {
  const underWay = new UnderWay<{ readonly name: string }>();
  const numbers = ["a", "b", "c"].map((name) => underWay.add(thing(name)));
  underWay.take(numbers[1] ?? -1);
  expect([...underWay].map(({ name }) => name)).toEqual(["a", "c"]);
});
