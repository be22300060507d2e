/** What the order of the leaves is for: fewer places to look at on the way to the best one. */
import { expect, test } from "vitest";
import {
  BoundRows,
  CPU,
  CPU_PROMISABLE,
  MEMORY,
  MEMORY_PROMISABLE,
  WEIGHT,
  WIDTH,
} from "../../../src/actors/placement/index/bound-rows.ts";
import {
  type Amounts,
  LAST_NEIGHBOURHOOD,
  neighbourhoodOf,
  sortedSlots,
} from "../../../src/actors/placement/index/leaf-order.ts";
import { NO_LEAF, Search } from "../../../src/actors/placement/index/search.ts";
import { Slots } from "../../../src/actors/placement/index/slots.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { CPU as CPUS, GIB } from "./world.ts";

const LEAVES = 1_024;
const chance = seededRandom(9);
const NODES: readonly Amounts[] = Array.from({ length: LEAVES }, (_, at) => {
  const cpus = [16, 64, 192][at % 3] ?? 16;
  const cpuPromisable = cpus * CPUS;
  const memoryPromisable = (cpus === 64 ? 8 : 4) * cpus * GIB;
  const cpu = Math.floor(chance.fraction() * 0.8 * cpuPromisable);
  return { cpu, cpuPromisable, memory: Math.floor(chance.fraction() * 0.8 * memoryPromisable), memoryPromisable };
});

/** Places looked at for the best of all, and its weight, with the leaves in this order. */
function searched(order: Iterable<number>): { steps: number; weight: number } {
  const slots = new Slots();
  const rows = new BoundRows(LEAVES, slots, true);
  let place = LEAVES;
  for (const slot of order) {
    const { cpu, cpuPromisable, memory, memoryPromisable } = NODES[slot] ?? NOTHING;
    rows.assign(place, slot);
    rows.bounds.fill(Number.POSITIVE_INFINITY, place * WIDTH, (place + 1) * WIDTH);
    rows.bounds[place * WIDTH + CPU] = cpu;
    rows.bounds[place * WIDTH + CPU_PROMISABLE] = cpuPromisable;
    rows.bounds[place * WIDTH + MEMORY] = memory;
    rows.bounds[place * WIDTH + MEMORY_PROMISABLE] = memoryPromisable;
    rows.bounds[place * WIDTH + WEIGHT] = Math.max(cpu / cpuPromisable, memory / memoryPromisable);
    place += 1;
  }
  rows.mergeAll();
  const search = new Search(rows, slots, true);
  const demand = { creates: true, managed: true, excludeNodeIds: null, ...DEMAND };
  search.begin(rows, demand, 0);
  while (search.next() !== NO_LEAF) search.take();
  const { cpu, cpuPromisable, memory, memoryPromisable } = NODES[search.bestSlot] ?? NOTHING;
  const weight = Math.max(
    (cpu + DEMAND.cpuMillicores) / cpuPromisable,
    (memory + DEMAND.memoryBytes) / memoryPromisable,
  );
  return { steps: search.steps, weight };
}

const DEMAND = { cpuMillicores: 4 * CPUS, memoryBytes: GIB };
const NOTHING: Amounts = { cpu: 0, cpuPromisable: 1, memory: 0, memoryPromisable: 1 };

test("every slot has one leaf, free ones come last", () => {
  const neighbourhoods = Float64Array.from({ length: 64 }, (_, slot) =>
    slot % 3 === 0 ? LAST_NEIGHBOURHOOD : slot % 5,
  );
  const sorted = [...sortedSlots(neighbourhoods)];
  expect(sorted.slice().sort((left, right) => left - right)).toEqual(Array.from({ length: 64 }, (_, slot) => slot));
  expect(sorted.slice(-22)).toEqual(Array.from({ length: 22 }, (_, at) => at * 3));
});

test("nodes of one capacity are together, whatever their load; also where none is known, or it is tiny or huge", () => {
  const big = { cpuPromisable: 192 * CPUS, memoryPromisable: 2048 * GIB };
  const light = neighbourhoodOf({ ...big, cpu: 0, memory: 0 });
  const heavy = neighbourhoodOf({ ...big, cpu: 10 ** 9, memory: 2 ** 53 });
  const small = { cpuPromisable: 16 * CPUS, memoryPromisable: 64 * GIB };
  for (const load of [0, 0.3, 0.99, 7]) {
    const number = neighbourhoodOf({ ...small, cpu: load * small.cpuPromisable, memory: 0 });
    expect(number >= light && number <= heavy).toBe(false);
  }
  const endless = {
    cpu: 0,
    memory: 0,
    cpuPromisable: Number.POSITIVE_INFINITY,
    memoryPromisable: Number.POSITIVE_INFINITY,
  };
  const tiny = { cpu: 5, memory: 5, cpuPromisable: 1e-9, memoryPromisable: 0.5 };
  for (const amounts of [endless, tiny]) {
    const number = neighbourhoodOf(amounts);
    expect(Number.isInteger(number)).toBe(true);
    expect(number >= 0 && number < LAST_NEIGHBOURHOOD).toBe(true);
  }
});

test("with neighbours that are alike, the same node is found in less than half the steps", () => {
  const asTheyCame = searched(NODES.keys());
  const ordered = searched(sortedSlots(Float64Array.from(NODES, neighbourhoodOf)));
  expect(ordered.weight).toBe(asTheyCame.weight);
  expect(ordered.steps).toBeLessThan(asTheyCame.steps / 2);
});
