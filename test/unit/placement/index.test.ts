/** What random fleets seldom meet: the very instant at which a demotion ends, larger fleets; and what a selection costs. */
import { describe, expect, test } from "vitest";
import { demandOf } from "../../../src/actors/placement/candidates.ts";
import { rulesAt } from "../../../src/actors/placement/core.ts";
import { selectByScan } from "../../../src/actors/placement/plain-scan.ts";
import { leastLoaded } from "../../../src/actors/placement/ranking/least-loaded.ts";
import type { SnapshotReport } from "../../../src/messages/nodes.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { countLooks } from "./looks.ts";
import { CPU, GIB, type ScheduleOptions, snapshot, World } from "./world.ts";

/** The id of the node chosen by the index; the scan must choose the same. */
function chosen(world: World, options: ScheduleOptions = {}): string | undefined {
  const { core } = world.placement;
  const rules = rulesAt(core, world.nowMs);
  const demand = demandOf(world.request(options));
  const context = { config: core.config, nowMs: world.nowMs, random: seededRandom(1) };
  const node = core.index.select(demand, rules);
  expect(node).toBe(selectByScan(core.fleet.nodes.values(), { demand, rules, strategy: leastLoaded, context }));
  return node?.nodeId;
}

describe("demotion", () => {
  const demotion = { failures: 2, withinMs: 300_000, forMs: 60_000 };
  const fail = (world: World, excludeNodeIds: readonly string[]): void => {
    for (let time = 0; time < demotion.failures; time++) world.cancel(world.reserve({ excludeNodeIds }), "refused");
  };

  test("ends at its instant, with no message about the node", () => {
    const world = new World({ demotion, reportTtlMs: 600_000 });
    world.report("a");
    world.report("b", { allocatedCpuMillicores: 8 * CPU });
    for (let time = 0; time < 3; time++) expect(chosen(world)).toBe("a");
    fail(world, ["b"]);
    expect(chosen(world)).toBe("b");
    world.pass(59_999);
    expect(chosen(world)).toBe("b");
    world.pass(1);
    expect(chosen(world)).toBe("a");
  });

  test("one that is prolonged does not keep another from ending", () => {
    const world = new World({ demotion, reportTtlMs: 600_000 });
    for (const nodeId of ["a", "b"]) world.report(nodeId);
    world.report("c", { allocatedCpuMillicores: 8 * CPU });
    for (let time = 0; time < 3; time++) chosen(world);
    fail(world, ["b", "c"]);
    world.pass(10_000);
    fail(world, ["a", "c"]);
    world.pass(30_000);
    fail(world, ["b", "c"]);
    expect(chosen(world)).toBe("c");
    world.pass(30_000);
    expect(chosen(world)).toBe("b");
    world.pass(29_999);
    expect(chosen(world, { excludeNodeIds: ["b"] })).toBe("c");
    world.pass(1);
    expect(chosen(world, { excludeNodeIds: ["b"] })).toBe("a");
  });
});

test("a thousand nodes, some of which fall silent, some of unknown capacity: a thousand requests of few and of many shapes", () => {
  const world = new World();
  const chance = seededRandom(5);
  const pick = (below: number): number => Math.floor(chance.fraction() * below);
  const heartbeat = (at: number): void => {
    const nodeId = `n${at}`;
    const size = { cpuCapacityMillicores: pick(20) * 4 * CPU, memoryCapacityBytes: pick(20) * 8 * GIB };
    const set = {
      ...size,
      allocatedCpuMillicores: pick(16) * CPU,
      allocatedMemoryBytes: pick(64) * GIB,
      sandboxCount: pick(3),
    };
    const message = world.heartbeatOf(nodeId, { snapshot: snapshot(set) });
    expect(world.placement.handle(message, world.now).reply.ok).toBe(true);
  };
  for (let at = 0; at < 1_000; at++) heartbeat(at);
  const winners = new Set<string | undefined>();
  for (let turn = 0; turn < 1_000; turn++) {
    const options =
      turn % 3 === 0 ? { cpu: 1 + chance.fraction(), memoryGib: 1 + pick(900) / 1024 } : { cpu: 1 + pick(3) };
    winners.add(chosen(world, options));
    expect(world.placement.handle(world.request(options), world.now).reply.ok).toBe(true);
    for (let time = 0; time < 3; time++) heartbeat(pick(1_000));
    world.pass(80);
  }
  expect(winners.size).toBeGreaterThan(50);
});

test("a shape that comes most is served the same as before, and gives way to the next one", () => {
  const world = new World();
  for (let at = 0; at < 40; at++) world.report(`n${at}`, { allocatedCpuMillicores: at * 100 });
  for (let turn = 0; turn < 600; turn++) {
    const cpuMillicores = turn % 7 === 0 ? 1 + turn : 1_000 + Math.floor(turn / 200);
    expect(chosen(world, { cpuMillicores })).toBe("n0");
    if (turn % 20 === 0) world.report("n0", { allocatedCpuMillicores: 50 - (turn % 50) });
  }
});

test("two amounts that become one with a demand tie, whichever was the lesser", () => {
  // Beyond 2^53 doubles are even, and a sum half-way between two of them is rounded.
  const world = new World({ overcommit: { cpu: 1, memory: 4 } });
  const lesser = { memoryCapacityBytes: 2 ** 52, allocatedMemoryBytes: 2 ** 53 - 4 };
  const greater = { memoryCapacityBytes: 2 ** 52, allocatedMemoryBytes: 2 ** 53 - 3 };
  expect(lesser.allocatedMemoryBytes + GIB).toBe(greater.allocatedMemoryBytes + GIB);
  world.report("a", { ...lesser, sandboxCount: 1 });
  world.report("b", greater);
  expect(chosen(world)).toBe("b");
  expect(chosen(world, { hint: "none" })).toBe("a");
});

describe("looks at nodes", () => {
  const NODES = 500;

  /** How often a node was asked whether it is a candidate, and by what it is to be reported again. */
  function watched(set: (at: number) => Partial<SnapshotReport>): { world: World; looks: () => number } {
    const world = new World();
    for (let at = 0; at < NODES; at++) {
      const heartbeat = world.heartbeatOf(`n${at}`, { snapshot: snapshot(set(at)) });
      expect(world.placement.handle(heartbeat, world.now).reply.ok).toBe(true);
    }
    return { world, looks: countLooks(world) };
  }

  /** Of as many requests of which no two are alike, each of which is reserved. */
  function looksPerRequest({ world, looks }: ReturnType<typeof watched>, requests: number): number {
    const schedule = (at: number): void => {
      const request = world.request({ cpuMillicores: 1_000 + at, memoryBytes: GIB + ((at * 7_919) % GIB) });
      expect(world.placement.handle(request, world.now).reply.ok).toBe(true);
    };
    schedule(requests);
    const before = looks();
    for (let at = 0; at < requests; at++) schedule(at);
    return (looks() - before) / requests;
  }

  const size = { cpuCapacityMillicores: 64 * CPU, memoryCapacityBytes: 256 * GIB };

  test("are two per request where all nodes tie, whatever its shape: the one chosen before, and the next", () => {
    expect(
      looksPerRequest(
        watched(() => size),
        NODES - 1,
      ),
    ).toBe(2);
  });

  test("are few where each node is loaded otherwise", () => {
    const loaded = watched((at) => ({
      ...size,
      allocatedCpuMillicores: (at * 37) % (48 * CPU),
      allocatedMemoryBytes: ((at * 101) % 200) * GIB,
    }));
    expect(looksPerRequest(loaded, 200)).toBeLessThan(8);
  });

  test("are none at nodes that fell silent, once they were found so", () => {
    const silent = watched(() => size);
    const { world, looks } = silent;
    looksPerRequest(silent, 1);
    world.pass(30_001);
    world.report("n7", { ...size, allocatedCpuMillicores: 20 * CPU });
    expect(world.reserve({ cpuMillicores: 999 }).nodeId).toBe("n7");
    const before = looks();
    for (let turn = 0; turn < 10; turn++) expect(world.reserve({ cpuMillicores: 999 }).nodeId).toBe("n7");
    expect(looks() - before).toBe(20);
  });
});
