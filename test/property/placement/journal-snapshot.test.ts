import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LogEntry } from "../../../src/actors/placement/event-log.ts";
import { placementEventsOf } from "../../../src/actors/placement/event-log.ts";
import type { PlacementEvent } from "../../../src/actors/placement/events.ts";
import type { Instant } from "../../../src/actors/placement/instant.ts";
import { snapshotOf } from "../../../src/actors/placement/journal-snapshot.ts";
import { createPlacement, type Placement } from "../../../src/actors/placement/state.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { AGGREGATE_SCENARIOS, MODEL_SCENARIOS } from "./scenarios.ts";
import { runs, seed, steps } from "./steps.ts";
import { type Scenario, Walk } from "./walk.ts";

/** What the log leaves, before a replay bounds the leases. */
function folded({ config }: Scenario, entries: Iterable<LogEntry>, now: Instant): Placement {
  const placement = createPlacement(config, { random: seededRandom(1) }, now);
  placement.fold(placementEventsOf(entries), now);
  return placement;
}

/** As they come back from a file. */
function stored<Entry>(entries: readonly Entry[]): Entry[] {
  return JSON.parse(JSON.stringify(entries)) as Entry[];
}

describe("a snapshot and what came after it leave exactly what the whole log leaves, every lease at its time", () => {
  const all = [...MODEL_SCENARIOS, ...AGGREGATE_SCENARIOS].map((scenario) => [scenario.name, scenario] as const);
  test.each(all)("%s", (_name, scenario) => {
    fc.assert(
      fc.property(steps(120), fc.nat(999), fc.nat(999), fc.nat(1e8), (sequence, first, second, downMs) => {
        const walk = new Walk(scenario, () => {});
        for (const step of sequence) walk.take(step);
        const whole: readonly PlacementEvent[] = stored(walk.events);
        const [one = 0, two = 0] = [first, second].map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b);
        const once = stored(snapshotOf(whole.slice(0, two)));
        const twice = stored(snapshotOf([...stored(snapshotOf(whole.slice(0, one))), ...whole.slice(one, two)]));
        expect(twice).toEqual(once);
        const now = { nowMs: 77, wallMs: walk.now.wallMs + downMs };
        const expected = folded(scenario, whole, now).snapshot(now);
        expect(folded(scenario, [...once, ...whole.slice(two)], now).snapshot(now)).toEqual(expected);
      }),
      { seed: seed(), numRuns: runs(15) },
    );
  });
});
