import fc from "fast-check";
import { expect, test } from "vitest";
import { FleetWalk } from "./fleet-walk.ts";
import { fleet, type Step, step } from "./fleets.ts";

/** EVENKEEL_PROPERTY_RUNS multiplies the number of fleets, EVENKEEL_PROPERTY_STEPS is the most that happens to one. */
const factor = Number(process.env.EVENKEEL_PROPERTY_RUNS ?? "1");
const mostSteps = Number(process.env.EVENKEEL_PROPERTY_STEPS ?? "30");
const seed = Number(process.env.EVENKEEL_PROPERTY_SEED ?? "20261130");

const steps: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 1, maxLength: mostSteps, size: "max" });

test("10 000 random fleets: at each step the index chooses the very node that the plain scan does, and counts its reasons", {
  timeout: 3_600_000,
}, () => {
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
    { seed, numRuns: Math.round(10_000 * factor) },
  );
  expect(compared).toBeGreaterThan(500_000 * factor);
});
