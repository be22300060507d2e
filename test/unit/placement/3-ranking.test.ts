import { describe, expect, test } from "vitest";
import { findStrategy, STRATEGY_NAMES } from "../../../src/actors/placement/ranking/strategy.ts";
import { createPlacement } from "../../../src/actors/placement/state.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { CPU, GIB, World } from "./world.ts";

const roomy = { cpuCapacityMillicores: 100 * CPU, memoryCapacityBytes: 100 * GIB };

describe("3. least_loaded", () => {
  test("the greater of the known pressures decides, the request's own demand included", () => {
    const world = new World();
    world.report("a", { ...roomy, allocatedCpuMillicores: 50 * CPU });
    world.report("b", { ...roomy, allocatedMemoryBytes: 49 * GIB });
    expect(world.reserve({ cpu: 1, memoryGib: 1 }).nodeId).toBe("b");
    // On b 20 GiB make 70 %; on a they leave CPU ahead at 51 %.
    expect(world.reserve({ cpu: 1, memoryGib: 20 }).nodeId).toBe("a");
  });

  test("what is in flight and what is paused count", () => {
    const world = new World({ pausedWeight: { cpu: 0.5, memory: 1 } });
    world.report("a", { ...roomy, pausedAllocatedCpuMillicores: 10 * CPU });
    world.report("b", { ...roomy, allocatedCpuMillicores: 4 * CPU });
    expect([1, 2, 3].map(() => world.reserve().nodeId)).toEqual(["b", "a", "b"]);
  });

  test("paused memory counts by its own weight", () => {
    const world = new World({ pausedWeight: { cpu: 1, memory: 0.5 } });
    world.report("a", { ...roomy, pausedAllocatedMemoryBytes: 10 * GIB });
    world.report("b", { ...roomy, allocatedMemoryBytes: 6 * GIB });
    expect([world.hintless(), world.hintless()]).toEqual(["a", "a"]);
    expect(world.node("a").projected.memoryBytes).toBe(5 * GIB);
  });

  test("3 nodes of 16, 64 and 192 CPU, 300 requests of 2 CPU and 4 GiB without admission limits: peak 2.2188", () => {
    const world = new World({ overcommit: { cpu: 1000, memory: 1000 } });
    for (const cpus of [16, 64, 192]) {
      world.report(`n${cpus}`, { cpuCapacityMillicores: cpus * CPU, memoryCapacityBytes: cpus * 2 * GIB });
    }
    for (let index = 0; index < 300; index++)
      world.placement.handle(world.request({ cpu: 2, memoryGib: 4 }), world.now);
    const peak = Math.max(...[16, 64, 192].map((cpus) => world.inFlight(`n${cpus}`).cpuMillicores / (cpus * CPU)));
    expect(peak.toFixed(4)).toBe("2.2188");
  });

  test("equal pressure: fewer starting, pending ones included, then fewer running, confirmed ones included, then fewer paused", () => {
    const starting = new World();
    starting.report("a", { sandboxStartingCount: 1 });
    starting.report("b", { sandboxCount: 9 });
    expect(starting.hintless()).toBe("b");
    const running = new World();
    running.report("a", { sandboxCount: 2 });
    running.report("b", { sandboxCount: 1, pausedSandboxCount: 5 });
    expect(running.hintless()).toBe("b");
    const paused = new World();
    paused.report("a", { pausedSandboxCount: 2 });
    paused.report("b", { pausedSandboxCount: 1 });
    expect(paused.hintless()).toBe("b");

    const inFlight = new World({ assumedResources: { cpu: "none", memory: "none" } });
    const template = { hint: "new_sandbox", cpuMillicores: null, memoryBytes: null } as const;
    inFlight.report("a");
    inFlight.report("b");
    const first = inFlight.reserve(template);
    expect([first.nodeId, inFlight.hintless()]).toEqual(["a", "b"]);
    inFlight.confirm(first, "s1");
    expect([inFlight.hintless(), inFlight.hintless()]).toEqual(["b", "b"]);
  });

  test("least recently chosen by any request, hintless too; then id", () => {
    const world = new World();
    for (const nodeId of ["c", "b", "a"]) world.report(nodeId);
    expect([1, 2, 3, 4].map(() => world.hintless())).toEqual(["a", "b", "c", "a"]);
    const reservation = world.reserve();
    expect(reservation.nodeId).toBe("b");
    world.cancel(reservation);
    expect(world.hintless()).toBe("c");
  });

  test("pressures are equal only if their quotients are: one part in 10^15 decides", () => {
    const world = new World();
    world.report("a", { memoryCapacityBytes: 2 ** 53, allocatedMemoryBytes: 2 ** 52 });
    world.report("b", { memoryCapacityBytes: 2 ** 53, allocatedMemoryBytes: 2 ** 52 - 1, sandboxStartingCount: 5 });
    expect([world.hintless(), world.hintless()]).toEqual(["b", "b"]);
  });

  test("usable is: a capacity is known, and that of every requested dimension; others go by their counts", () => {
    const world = new World();
    world.report("a", { cpuCapacityMillicores: 0, sandboxCount: 1 });
    world.report("b", { cpuCapacityMillicores: 0, memoryCapacityBytes: 0 });
    world.report("c", { allocatedCpuMillicores: 15 * CPU, sandboxCount: 50 });
    expect(world.reserve().nodeId).toBe("c");
    // CPU is full on c now; of the unusable, b runs fewer.
    expect(world.reserve().nodeId).toBe("b");
    // For a request of memory alone a is usable.
    expect(world.reserve({ cpuMillicores: null, memoryGib: 1, excludeNodeIds: ["c"] }).nodeId).toBe("a");
  });

  test("an unknown dimension adds nothing to the request's own ranking", () => {
    const world = new World({ assumedResources: { cpu: 8 * CPU, memory: 0 } });
    world.report("a", { cpuCapacityMillicores: 10 * CPU, allocatedCpuMillicores: CPU });
    world.report("b", { cpuCapacityMillicores: 100 * CPU, allocatedCpuMillicores: 11 * CPU });
    expect(world.reserve({ hint: "new_sandbox", cpuMillicores: null, memoryBytes: null }).nodeId).toBe("a");
    expect(world.inFlight("a").cpuMillicores).toBe(8 * CPU);
  });
});

describe("3. demoted", () => {
  function failing(count: number): World {
    const world = new World();
    world.report("a");
    world.report("b", { allocatedCpuMillicores: 8 * CPU });
    for (let index = 0; index < count; index++) world.cancel(world.reserve(), index % 2 === 0 ? "refused" : "failed");
    return world;
  }

  test("five failed outcomes within 5 min rank a node behind all others for 60 s", () => {
    expect(failing(4).reserve().nodeId).toBe("a");
    const world = failing(5);
    expect(world.node("a").demoted).toBe(true);
    expect(world.reserve().nodeId).toBe("b");
    world.pass(59_999);
    for (const nodeId of ["a", "b"]) world.report(nodeId, nodeId === "b" ? { allocatedCpuMillicores: 8 * CPU } : {});
    expect(world.reserve().nodeId).toBe("b");
    world.pass(1);
    expect(world.reserve().nodeId).toBe("a");
    expect(world.notices.filter(({ type }) => type === "node_demoted")).toHaveLength(1);
  });

  test("it is never excluded", () => {
    expect(failing(5).reserve({ excludeNodeIds: ["b"] }).nodeId).toBe("a");
  });

  test("a confirm clears it, and a confirm between starts the count anew", () => {
    const world = failing(5);
    world.confirm(world.reserve({ excludeNodeIds: ["b"] }), "s1");
    expect(world.node("a").demoted).toBe(false);
    for (let index = 0; index < 4; index++) world.cancel(world.reserve({ excludeNodeIds: ["b"] }), "failed");
    expect(world.node("a").demoted).toBe(false);
  });

  test("failures spread over more than 5 min, other reasons, and repeats do not count", () => {
    const slow = new World({ reportTtlMs: 1e9 });
    slow.report("a");
    for (let index = 0; index < 5; index++) {
      slow.cancel(slow.reserve(), "failed");
      slow.pass(75_001);
    }
    expect(slow.node("a").demoted).toBe(false);
    const other = new World();
    other.report("a");
    for (let index = 0; index < 9; index++) other.cancel(other.reserve(), "client_gone");
    const last = other.reserve();
    for (let index = 0; index < 9; index++) other.cancel(last, "failed");
    expect(other.node("a").demoted).toBe(false);
  });
});

describe("3. other strategies", () => {
  test("round_robin: least recently chosen, then id; load does not matter", () => {
    const world = new World({ strategy: "round_robin" });
    world.report("b");
    world.report("a", { allocatedCpuMillicores: 15 * CPU });
    world.report("c", { allocatedCpuMillicores: 16 * CPU });
    expect(world.hintless()).toBe("a");
    expect(world.reserve().nodeId).toBe("b");
    expect(world.reserve().nodeId).toBe("a");
    expect(world.reserve().nodeId).toBe("b");
    expect(world.reserve().nodeId).toBe("b");
  });

  test("random: every candidate, none that is not one, the same for the same seed", () => {
    const chosen = (): string[] => {
      const world = new World({ strategy: "random" });
      for (const nodeId of ["a", "b", "c", "d"]) world.report(nodeId);
      world.ask({ type: "cordon", nodeId: "d", reason: null });
      return Array.from({ length: 60 }, () => world.hintless());
    };
    expect(new Set(chosen())).toEqual(new Set(["a", "b", "c"]));
    expect(chosen()).toEqual(chosen());
  });

  test("names are matched trimmed and case-insensitively; an unknown one is a configuration error", () => {
    expect(STRATEGY_NAMES).toEqual(["least_loaded", "round_robin", "random"]);
    expect(findStrategy("  Round_ROBIN ")?.name).toBe("round_robin");
    const world = new World();
    expect(() =>
      createPlacement({ ...world.config, strategy: "best" }, { random: seededRandom(1) }, world.now),
    ).toThrow('unknown strategy "best"; one of least_loaded, round_robin, random');
  });
});
