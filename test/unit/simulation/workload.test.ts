import { expect, test } from "vitest";
import { seededRandom } from "../../../src/ports/random.ts";
import { arrivalsOf } from "../../../src/simulation/workload.ts";

test("the first request comes at 0, the gaps have the mean of the rate", () => {
  const arrivals = [...arrivalsOf({ requests: 20_000, ratePerSecond: 50, lifetimeMs: 4_000 }, seededRandom(1))];
  expect(arrivals).toHaveLength(20_000);
  expect(arrivals[0]?.atMs).toBe(0);
  const seconds = (arrivals.at(-1)?.atMs ?? 0) / 1000;
  // Both means of exponential draws lie within 3 standard errors (3/√20000 = 2.1 %).
  expect(Math.abs(seconds / (20_000 / 50) - 1)).toBeLessThan(0.0213);
  const meanLifetimeMs = arrivals.reduce((sum, { lifetimeMs }) => sum + (lifetimeMs ?? 0), 0) / 20_000;
  expect(Math.abs(meanLifetimeMs / 4_000 - 1)).toBeLessThan(0.0213);
});

test("turning lifetimes on leaves the arrivals as they were", () => {
  const terms = { requests: 100, ratePerSecond: 10 };
  const timesOf = (lifetimeMs: number | null): number[] =>
    [...arrivalsOf({ ...terms, lifetimeMs }, seededRandom(3))].map(({ atMs }) => atMs);
  expect(timesOf(60_000)).toEqual(timesOf(null));
  expect([...arrivalsOf({ ...terms, lifetimeMs: null }, seededRandom(3))].every((a) => a.lifetimeMs === null)).toBe(
    true,
  );
});
