/** What refusing a request costs, counted in looks at nodes. */
import { expect, test } from "vitest";
import { countLooks } from "./looks.ts";
import { CPU, GIB, World } from "./world.ts";

const NODES = 40;

/** A fleet in which every node is full; how often one was looked at. */
function fullFleet(): { world: World; looks: () => number } {
  const world = new World();
  const full = { cpuCapacityMillicores: 4 * CPU, allocatedCpuMillicores: 3 * CPU, pausedAllocatedCpuMillicores: CPU };
  for (let node = 0; node < NODES; node++) world.report(`n-${node}`, full);
  return { world, looks: countLooks(world) };
}

test("a shape that is refused again and again costs a look at each node that changed, and no more", () => {
  const { world, looks } = fullFleet();
  const refuse = () => world.refusal(world.request());
  const first = refuse();
  expect(first.details).toMatchObject({
    reasons: { "insufficient cpu": NODES },
    nodes: NODES,
    paused: [`insufficient cpu: ${NODES} of ${4 * NODES} paused`],
  });
  // The shape that comes most is given a tree of its own on the way.
  for (let time = 0; time < 30; time++) refuse();
  const before = looks();
  for (let time = 0; time < 100; time++) expect(refuse()).toEqual(first);
  expect(looks() - before).toBe(0);
  world.ask({ type: "cordon", nodeId: "n-7", reason: null });
  const cordoned = looks();
  expect(world.reasons()).toEqual({ "insufficient cpu": NODES - 1, cordoned: 1 });
  expect(looks() - cordoned).toBeLessThanOrEqual(2);
});

test("what a request excludes is counted as excluded for it alone", () => {
  const { world, looks } = fullFleet();
  for (let time = 0; time < 3; time++) world.reasons();
  const before = looks();
  const refusal = world.refusal(world.request({ excludeNodeIds: ["n-1", "n-2", "nobody"] }));
  expect(refusal.details).toMatchObject({
    reasons: { "insufficient cpu": NODES - 2, excluded: 2 },
    paused: [`insufficient cpu: ${NODES - 2} of ${4 * (NODES - 2)} paused`],
  });
  expect(looks() - before).toBe(4);
  expect(world.reasons()).toEqual({ "insufficient cpu": NODES });
});

test("a node that falls silent is unhealthy at that instant, without a message of its own", () => {
  const { world } = fullFleet();
  for (let time = 0; time < 3; time++) world.reasons();
  world.pass(10_000);
  world.report("n-3", { cpuCapacityMillicores: CPU, allocatedCpuMillicores: CPU, memoryCapacityBytes: GIB });
  world.pass(20_000);
  expect(world.reasons()).toEqual({ "insufficient cpu": NODES });
  world.pass(1);
  expect(world.reasons()).toEqual({ unhealthy: NODES - 1, "insufficient cpu": 1 });
  world.pass(10_000);
  expect(world.reasons()).toEqual({ unhealthy: NODES });
});

test("nodes that fall silent one after another cost a look each at every refusal, not one at every node", () => {
  const { world, looks } = fullFleet();
  for (let node = 0; node < NODES; node++) {
    world.pass(100);
    world.report(`n-${node}`, { cpuCapacityMillicores: CPU, allocatedCpuMillicores: CPU });
  }
  for (let time = 0; time < 30; time++) world.reasons();
  world.pass(30_000 - 100 * (NODES - 1));
  expect(world.reasons()).toEqual({ "insufficient cpu": NODES });
  for (let silent = 1; silent < NODES; silent++) {
    world.pass(100);
    const before = looks();
    expect(world.reasons()).toEqual({ unhealthy: silent, "insufficient cpu": NODES - silent });
    // Two trees of the search, and the tally.
    expect(looks() - before).toBeLessThanOrEqual(3);
  }
});

test("nor does silence that reports keep from coming cost a look", () => {
  const { world, looks } = fullFleet();
  for (let time = 0; time < 30; time++) world.reasons();
  const full = { cpuCapacityMillicores: CPU, allocatedCpuMillicores: CPU };
  for (let round = 0; round < 3 * NODES; round++) {
    world.pass(500);
    world.report(`n-${round % NODES}`, full);
    const before = looks();
    expect(world.reasons()).toEqual({ "insufficient cpu": NODES });
    expect(looks() - before).toBeLessThanOrEqual(3);
  }
});
