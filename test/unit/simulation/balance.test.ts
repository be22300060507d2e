import { expect, test } from "vitest";
import { PlayedNode } from "../../../src/actors/load/played-node.ts";
import { deviationOverMean, higherPeak, imbalanceOf } from "../../../src/simulation/balance.ts";

const GIB = 2 ** 30;

function nodeOf(nodeId: string, cpus: number, gib: number): PlayedNode {
  const capacity = { cpuMillicores: cpus * 1000, memoryBytes: gib * GIB };
  return new PlayedNode({ nodeId, endpoint: `${nodeId}:1`, serviceInstanceId: "i", capacity });
}

test("the standard deviation is that of a population", () => {
  expect(deviationOverMean([2, 4, 4, 4, 5, 5, 7, 9])).toBe(2 / 5);
  expect(deviationOverMean([3, 3, 3])).toBe(0);
  expect(deviationOverMean([0, 0])).toBe(0);
  expect(deviationOverMean([])).toBe(0);
});

test("the peak is the fuller dimension, and an earlier higher one stays", () => {
  const node = nodeOf("a", 4, 8);
  expect(higherPeak(null, node)).toBeNull();
  node.create("s-1", { cpuMillicores: 1000, memoryBytes: 6 * GIB });
  const peak = higherPeak(null, node);
  expect(peak).toEqual({ pressure: 0.75, nodeId: "a", dimension: "memory" });
  node.delete("s-1");
  expect(higherPeak(peak, node)).toEqual(peak);
});

test("an even load on unequal nodes is even by pressure, not by CPUs", () => {
  const [small, large] = [nodeOf("small", 4, 8), nodeOf("large", 12, 24)];
  small.create("s-1", { cpuMillicores: 1000, memoryBytes: GIB });
  for (const id of ["s-2", "s-3", "s-4"]) large.create(id, { cpuMillicores: 1000, memoryBytes: GIB });
  expect(imbalanceOf([small, large])).toEqual({ allocation: 0.5, pressure: 0 });
});

test("a node's report holds the sums, the roster and the counter of what is there", () => {
  const node = nodeOf("a", 4, 8);
  node.create("s-1", { cpuMillicores: 1000, memoryBytes: GIB });
  node.create("s-2", { cpuMillicores: 500, memoryBytes: 2 * GIB });
  node.create("s-2", { cpuMillicores: 500, memoryBytes: 2 * GIB });
  expect(node.delete("s-1")).toEqual({ cpuMillicores: 1000, memoryBytes: GIB });
  expect(node.delete("s-1")).toBeNull();
  const first = node.heartbeat();
  expect(first).toMatchObject({ nodeId: "a", sequence: 1, sandboxIds: ["s-2"] });
  expect(first.snapshot).toMatchObject({
    allocatedCpuMillicores: 500,
    allocatedMemoryBytes: 2 * GIB,
    cpuCapacityMillicores: 4000,
    memoryCapacityBytes: 8 * GIB,
    sandboxCount: 1,
    createSuccesses: 2,
  });
  expect(node.heartbeat().sequence).toBe(2);
});
