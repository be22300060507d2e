import { describe, expect, test } from "vitest";
import { World } from "./world.ts";

/** A node on which both parts report, and a way to send one sample of memory. */
function sampled(): { world: World; sample: (memory: number | null, cpu?: number | null) => string[] } {
  const world = new World();
  let resourceSequence = 0;
  const sample = (memory: number | null, cpu: number | null = 0.1): string[] => {
    world.pass(5_000);
    world.report("a");
    resourceSequence += 1;
    world.resource("a", { memory, cpu, resourceSequence });
    return world.node("a").conditions.map(({ type }) => type);
  };
  return { world, sample };
}

function times(count: number, run: () => unknown): void {
  for (let index = 0; index < count; index++) run();
}

describe("6. pressure conditions", () => {
  test("enters after exactly 6 samples at or above 0.90, recovers after exactly 2 below 0.80", () => {
    const { world, sample } = sampled();
    for (let index = 0; index < 5; index++) expect(sample(0.9)).toEqual([]);
    expect(sample(0.9)).toEqual(["MEMORY_PRESSURE"]);
    expect(world.reasons()).toEqual({ MEMORY_PRESSURE: 1 });
    expect(sample(0.79)).toEqual(["MEMORY_PRESSURE"]);
    expect(sample(0.79)).toEqual([]);
    expect(world.hintless()).toBe("a");
    const changes = world.events.flatMap(({ change }) => (change.type.startsWith("condition") ? [change] : []));
    expect(changes).toEqual([
      { type: "condition_entered", nodeId: "a", condition: "MEMORY_PRESSURE", value: 0.9 },
      { type: "condition_left", nodeId: "a", condition: "MEMORY_PRESSURE", cause: "recovered", value: 0.79 },
    ]);
  });

  test("a sample between the thresholds breaks either streak and does neither", () => {
    const { sample } = sampled();
    times(5, () => sample(0.95));
    sample(0.89);
    times(5, () => expect(sample(0.95)).toEqual([]));
    expect(sample(0.95)).toEqual(["MEMORY_PRESSURE"]);
    sample(0.7);
    expect(sample(0.8)).toEqual(["MEMORY_PRESSURE"]);
    expect(sample(0.7)).toEqual(["MEMORY_PRESSURE"]);
    expect(sample(0.7)).toEqual([]);
  });

  test("null neither enters nor recovers, and breaks both streaks", () => {
    const { sample } = sampled();
    times(5, () => sample(0.95));
    sample(null);
    times(5, () => expect(sample(0.95)).toEqual([]));
    expect(sample(0.95)).toEqual(["MEMORY_PRESSURE"]);
    sample(0.1);
    expect(sample(null)).toEqual(["MEMORY_PRESSURE"]);
    expect(sample(0.1)).toEqual(["MEMORY_PRESSURE"]);
    expect(sample(0.1)).toEqual([]);
  });

  test("a gap longer than reportTtl, and a new daemon instance, break both streaks", () => {
    const { world, sample } = sampled();
    times(5, () => sample(0.95));
    world.pass(25_001);
    expect(sample(0.95)).toEqual([]);
    times(4, () => expect(sample(0.95)).toEqual([]));
    world.resource("a", { memory: 0.95, resourceSequence: 1, instance: "daemon-2" });
    expect(world.node("a").conditions).toEqual([]);
    for (let sequence = 2; sequence <= 6; sequence++) {
      world.resource("a", { memory: 0.95, resourceSequence: sequence, instance: "daemon-2" });
    }
    expect(world.node("a").conditions.map(({ type }) => type)).toEqual(["MEMORY_PRESSURE"]);
  });

  test("the same observation sent again is no new sample", () => {
    const { world } = sampled();
    world.report("a");
    times(20, () => world.resource("a", { memory: 0.95, resourceSequence: 7 }));
    expect(world.node("a").conditions).toEqual([]);
  });

  test("each metric is on its own; recovery removes the matching condition only, never a cordon or the lifecycle", () => {
    const { world, sample } = sampled();
    times(6, () => sample(0.95, 0.95));
    world.ask({ type: "cordon", nodeId: "a", reason: "by hand" });
    expect(world.node("a").conditions.map(({ type }) => type)).toEqual(["CPU_PRESSURE", "MEMORY_PRESSURE"]);
    times(2, () => sample(0.1, 0.95));
    expect(world.node("a")).toMatchObject({
      conditions: [{ type: "CPU_PRESSURE" }],
      cordoned: true,
      status: "READY",
      reasons: ["cordoned: by hand", "CPU_PRESSURE"],
    });
  });

  test("a condition whose daemon was silent for conditionTtl beside a fresh runtime ends as unobserved", () => {
    const { world, sample } = sampled();
    times(6, () => sample(0.95));
    const run = (durationMs: number): void => {
      for (let passed = 0; passed < durationMs; passed += 1_000) {
        world.pass(1_000);
        world.report("a");
        world.tick();
      }
    };
    run(599_000);
    expect(world.node("a").conditions).toHaveLength(1);
    run(1_000);
    expect(world.node("a").conditions).toEqual([]);
    expect(world.events.at(-1)?.change).toMatchObject({ type: "condition_left", cause: "unobserved", value: null });
  });

  test("it stays while the runtime is silent too", () => {
    const { world, sample } = sampled();
    times(6, () => sample(0.95));
    world.pass(700_000);
    world.tick();
    expect(world.node("a").conditions).toHaveLength(1);
  });

  test("operators can clear one; it comes back after as many samples", () => {
    const { world, sample } = sampled();
    times(6, () => sample(0.95));
    const { node } = world.ask({ type: "clear_condition", nodeId: "a", condition: "MEMORY_PRESSURE" });
    expect(node.conditions).toEqual([]);
    times(5, () => expect(sample(0.95)).toEqual([]));
    expect(sample(0.95)).toEqual(["MEMORY_PRESSURE"]);
    expect(world.refusal({ type: "clear_condition", nodeId: "x", condition: "CPU_PRESSURE" }).code).toBe("not_found");
  });
});
