/** What a draw costs, counted in looks at nodes, and that it gives the node that the scan draws. */
import { expect, test } from "vitest";
import { demandOf } from "../../../src/actors/placement/candidates.ts";
import type { PlacementConfig } from "../../../src/actors/placement/config.ts";
import { rulesAt } from "../../../src/actors/placement/core.ts";
import { selectByScan } from "../../../src/actors/placement/plain-scan.ts";
import { random } from "../../../src/actors/placement/ranking/random.ts";
import { createPlacement } from "../../../src/actors/placement/state.ts";
import type { SnapshotReport } from "../../../src/messages/nodes.ts";
import { type Random, seededRandom } from "../../../src/ports/random.ts";
import { countLooks } from "./looks.ts";
import { CPU, GIB, limits, type ScheduleOptions, World } from "./world.ts";

const NODES = 50;

/** A fleet that draws, with the draws of the test. */
class DrawingWorld extends World {
  #fraction = 0;
  readonly #chance: Random;

  constructor(config: Partial<PlacementConfig>, set: (at: number) => Partial<SnapshotReport>) {
    super({ ...config, strategy: "random" });
    const seeded = seededRandom(3);
    this.#chance = { fraction: () => this.#fraction, bytes: (count) => seeded.bytes(count) };
    this.placement = createPlacement(this.config, { random: this.#chance }, this.now);
    for (let at = 0; at < NODES; at++) this.report(`n-${at}`, set(at));
  }

  /** By the index. */
  drawn(fraction: number, options: ScheduleOptions): string | undefined {
    this.#fraction = fraction;
    const { core } = this.placement;
    return core.index.select(demandOf(this.request(options)), rulesAt(core, this.nowMs))?.nodeId;
  }

  /** By asking every node. */
  expected(fraction: number, options: ScheduleOptions): string | undefined {
    this.#fraction = fraction;
    const { config, fleet } = this.placement.core;
    const rules = rulesAt(this.placement.core, this.nowMs);
    const context = { config, nowMs: this.nowMs, random: this.#chance };
    const selection = { demand: demandOf(this.request(options)), rules, strategy: random, context };
    return selectByScan(fleet.nodes.values(), selection)?.nodeId;
  }
}

/** Looks of the index at requests for each of these amounts, all of which must be drawn as by a scan. */
function looksOfDraws(world: DrawingWorld, asked: readonly ScheduleOptions[]): number {
  world.drawn(0, asked[0] ?? {});
  const looks = countLooks(world);
  const draws = asked.flatMap((options) => [0, 0.3, 0.999].map((fraction) => ({ fraction, options })));
  const drawn = draws.map(({ fraction, options }) => world.drawn(fraction, options));
  const looked = looks();
  expect(drawn).toEqual(draws.map(({ fraction, options }) => world.expected(fraction, options)));
  return looked;
}

const size = { cpuCapacityMillicores: 16 * CPU, memoryCapacityBytes: 64 * GIB };
const amounts = [1, 2, 7.5, 7.999, 8, 8.001, 9, 16].map((cpu) => ({ cpu }));
const loads = (at: number) => ({
  ...size,
  allocatedCpuMillicores: (at * 331) % (16 * CPU),
  allocatedMemoryBytes: (at * 7_919) % (64 * GIB),
});

test.each([
  ["no limit", {}],
  ["a limit on allocated CPU", { maxCpuAllocatedPercent: 95 }],
  ["one on paused CPU too", { maxAllocatedCpuMillicoresIncludingPaused: 8 * CPU }],
  ["limits on memory", { maxMemoryAllocatedPercent: 33, maxAllocatedMemoryBytesIncludingPaused: 24 * GIB }],
])("with %s no node is asked that has not changed, whatever amounts come", (_name, set) => {
  for (const loaded of [() => size, loads]) {
    const world = new DrawingWorld({ nodeResourceLimit: limits(set) }, loaded);
    expect(looksOfDraws(world, amounts)).toBe(0);
  }
});

test("nor where a request takes the last of what every node has, or just too much", () => {
  const half = () => ({ ...size, allocatedCpuMillicores: 8 * CPU });
  expect(looksOfDraws(new DrawingWorld({}, half), amounts)).toBe(0);
  // Percentages that no double holds: 33.3 % of 16 CPUs are 5.328.
  const limited = { nodeResourceLimit: limits({ maxCpuAllocatedPercent: 33.3 }) };
  const edge = [5_327, 5_328, 5_329].map((cpuMillicores) => ({ cpuMillicores }));
  const world = new DrawingWorld(limited, () => size);
  expect(looksOfDraws(world, edge)).toBe(0);
  expect(edge.map((options) => world.drawn(0, options))).toEqual(["n-0", "n-0", undefined]);
});

test("a node that changed costs a look for itself and one for each amount", () => {
  const world = new DrawingWorld({ nodeResourceLimit: limits({ maxCpuAllocatedPercent: 95 }) }, loads);
  world.drawn(0, {});
  const looks = countLooks(world);
  world.report("n-7", { ...size, allocatedCpuMillicores: 15 * CPU });
  const before = looks();
  world.drawn(0.5, {});
  expect(looks() - before).toBe(3);
});

test("parts of a millicore between two whole ones cost a look at each node, not one on each level of the tree", () => {
  const set = { ...size, allocatedCpuMillicores: 8 * CPU, pausedAllocatedCpuMillicores: 1_001 };
  const world = new DrawingWorld({ pausedWeight: { cpu: 0.3, memory: 1 } }, () => set);
  expect(looksOfDraws(world, [{ cpuMillicores: 7_699.5 }])).toBe(3 * NODES);
  expect(world.drawn(0, { cpuMillicores: 7_699.5 })).toBe("n-0");
});

test("a request that excludes nodes reads no slot but theirs and that of the one drawn", () => {
  const world = new DrawingWorld({}, () => size);
  const options = { excludeNodeIds: ["n-0", "n-49", "nobody"] };
  expect(world.drawn(0, options)).toBe("n-1");
  const { nodes } = world.placement.core.slots;
  const slots = [...nodes.keys()];
  let reads = 0;
  for (const slot of slots) {
    const node = nodes[slot];
    Object.defineProperty(nodes, slot, {
      get() {
        reads += 1;
        return node;
      },
    });
  }
  const drawn = world.drawn(0.999, options);
  expect([drawn, reads]).toEqual(["n-48", 3]);
  expect(drawn).toBe(world.expected(0.999, options));
  expect(world.drawn(0, {})).toBe("n-0");
});
