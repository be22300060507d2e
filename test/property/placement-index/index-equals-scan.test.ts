import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FleetWalk } from "./fleet-walk.ts";
import { fleet, type Step, step } from "./fleets.ts";

/** EVENKEEL_PROPERTY_RUNS multiplies the number of fleets, EVENKEEL_PROPERTY_STEPS is the most that happens to one. */
const factor = Number(process.env.EVENKEEL_PROPERTY_RUNS ?? "1");
const mostSteps = Number(process.env.EVENKEEL_PROPERTY_STEPS ?? "30");
const seed = Number(process.env.EVENKEEL_PROPERTY_SEED ?? "20261130");

/** How many selections were compared. */
function compare(steps: fc.Arbitrary<Step[]>, fleets: number): number {
  let compared = 0;
  fc.assert(
    fc.property(fleet, steps, (drawn, sequence) => {
      const walk = new FleetWalk(drawn);
      for (const [at, taken] of sequence.entries()) {
        const difference = walk.take(taken);
        if (difference !== null) throw new Error(`after step ${at + 1}: ${difference}`);
      }
      compared += walk.compared;
    }),
    { seed, numRuns: Math.round(fleets * factor) },
  );
  return compared;
}

describe("at each step the index chooses the very node that the plain scan does, and counts its reasons", {
  timeout: 3_600_000,
}, () => {
  test("10 000 random fleets", () => {
    const steps = fc.array(step, { minLength: 1, maxLength: mostSteps, size: "max" });
    expect(compare(steps, 10_000)).toBeGreaterThan(500_000 * factor);
  });

  test("and some to which a thousand things happen", () => {
    const steps = fc.array(step, { minLength: 1_000, maxLength: 1_000, size: "max" });
    expect(compare(steps, 150)).toBe(4 * 1_000 * Math.round(150 * factor));
  });
});
