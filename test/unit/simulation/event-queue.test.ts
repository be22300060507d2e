import { expect, test } from "vitest";
import { seededRandom } from "../../../src/ports/random.ts";
import { EventQueue } from "../../../src/simulation/event-queue.ts";

test("things come out by time, and those of one time in the order in which they went in", () => {
  const random = seededRandom(7);
  const queue = new EventQueue<number>();
  const pushed = Array.from({ length: 2_000 }, (_, number) => ({
    atMs: Math.floor(random.fraction() * 50),
    event: number,
  }));
  for (const { atMs, event } of pushed) queue.push(atMs, event);
  expect(queue.size).toBe(2_000);

  const popped = pushed.map(() => queue.pop());

  // Array.sort is stable, so it keeps the order of equals.
  expect(popped.map((entry) => entry?.event)).toEqual(
    pushed.toSorted((left, right) => left.atMs - right.atMs).map(({ event }) => event),
  );
  expect(queue.pop()).toBeUndefined();
});

test("what is put in between two takings finds its place", () => {
  const queue = new EventQueue<string>();
  queue.push(10, "ten");
  queue.push(30, "thirty");
  expect(queue.pop()).toMatchObject({ atMs: 10, event: "ten" });
  queue.push(20, "twenty");
  queue.push(30, "thirty again");
  queue.push(5, "five");
  expect([queue.pop(), queue.pop(), queue.pop(), queue.pop()].map((entry) => entry?.event)).toEqual([
    "five",
    "twenty",
    "thirty",
    "thirty again",
  ]);
});
