import { expect, test } from "vitest";
import { Slots } from "../../../src/actors/kernel/slots.ts";

const thing = (name: string): { readonly name: string } => ({ name });

test("gives a number for each thing, and the thing back for its number, once", () => {
  const slots = new Slots<{ readonly name: string }>();
  const [a, b] = [slots.put(thing("a")), slots.put(thing("b"))];
  expect([slots.take(b), slots.take(b), slots.take(a), slots.take(99)]).toEqual([thing("b"), null, thing("a"), null]);
});

test("gives numbers anew, so that there are no more than things were in at a time", () => {
  const slots = new Slots<object>();
  const numbers = new Set<number>();
  for (let round = 0; round < 1_000; round++) {
    const taken = [slots.put({}), slots.put({}), slots.put({})];
    for (const number of taken) numbers.add(number);
    for (const number of taken) slots.take(number);
  }
  expect([...numbers].sort()).toEqual([0, 1, 2]);
});

test("takes all that are in, and has room for them again", () => {
  const slots = new Slots<{ readonly name: string }>();
  const first = slots.put(thing("a"));
  slots.put(thing("b"));
  slots.take(first);
  slots.put(thing("c"));
  expect(slots.takeAll().map(({ name }) => name)).toEqual(["c", "b"]);
  expect(slots.takeAll()).toEqual([]);
});
