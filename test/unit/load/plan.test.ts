import { expect, test } from "vitest";
import { latencyOf } from "../../../src/actors/load/latency.ts";
import { type Fate, intentionOf, type LoadPlan } from "../../../src/actors/load/plan.ts";

const plan: LoadPlan = {
  seed: 1,
  prefix: "load-x",
  requests: 20_000,
  cpuCount: 1,
  memoryMib: 1024,
  weights: { confirm: 7, cancel: 2, abandon: 1 },
  repeatShare: 0.1,
  patience: null,
};

test("fates occur as often as they weigh, and repeats as their share", () => {
  const counts: Record<Fate, number> = { confirm: 0, cancel: 0, abandon: 0 };
  let repeats = 0;
  for (let number = 0; number < plan.requests; number++) {
    const intention = intentionOf(plan, number);
    counts[intention.fate] += 1;
    if (intention.repeats) repeats += 1;
  }
  // Four standard errors of a share of 20 000 draws: √(p(1−p)/n) is at most 0.0033.
  expect(Math.abs(counts.confirm / plan.requests - 0.7)).toBeLessThan(0.013);
  expect(Math.abs(counts.cancel / plan.requests - 0.2)).toBeLessThan(0.0115);
  expect(Math.abs(counts.abandon / plan.requests - 0.1)).toBeLessThan(0.0085);
  expect(Math.abs(repeats / plan.requests - 0.1)).toBeLessThan(0.0085);
});

test("a request means the same whoever sends it and however many there are", () => {
  expect(intentionOf(plan, 17)).toEqual(intentionOf({ ...plan, requests: 18 }, 17));
  expect(intentionOf(plan, 17)).toMatchObject({ requestId: "load-x-request-17", sandboxId: "load-x-sandbox-17" });
  const fates = (seed: number): Fate[] => Array.from({ length: 50 }, (_, n) => intentionOf({ ...plan, seed }, n).fate);
  expect(fates(2)).not.toEqual(fates(1));
});

test("a fate that weighs nothing never occurs", () => {
  const only = { ...plan, weights: { confirm: 0, cancel: 3, abandon: 0 }, repeatShare: 1 };
  for (let number = 0; number < 1_000; number++) {
    expect(intentionOf(only, number)).toMatchObject({ fate: "cancel", repeats: true });
  }
});

test("percentiles are durations that occurred", () => {
  const oneToHundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(latencyOf(oneToHundred)).toEqual({ count: 100, p50Ms: 50, p90Ms: 90, p99Ms: 99, maxMs: 100 });
  expect(latencyOf([7])).toEqual({ count: 1, p50Ms: 7, p90Ms: 7, p99Ms: 7, maxMs: 7 });
  expect(latencyOf([])).toBeNull();
});
