import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type FleetNode, parseFleet } from "../../../src/simulation/fleet-file.ts";
import { type SimulationTerms, simulate } from "../../../src/simulation/simulation.ts";

const GIB = 2 ** 30;

function fleetNamed(name: string): readonly FleetNode[] {
  const reading = parseFleet(readFileSync(new URL(`../../../fixtures/fleets/${name}.json`, import.meta.url), "utf8"));
  if (!reading.ok) throw new Error(reading.problem);
  return reading.nodes;
}

function termsWith(terms: Partial<SimulationTerms>): SimulationTerms {
  return {
    fleet: fleetNamed("seed-3-nodes"),
    workload: { requests: 300, ratePerSecond: 10, lifetimeMs: null },
    request: { cpuMillicores: 2000, memoryBytes: 4 * GIB },
    admission: "none",
    heartbeatIntervalMs: null,
    seed: 1,
    ...terms,
  };
}

test("round robin gives the small node as much as the large one: 100 × 2 CPUs on 16", () => {
  const { peak, placed, imbalance } = simulate("round_robin", termsWith({}));
  expect(peak).toEqual({ pressure: 12.5, nodeId: "small", dimension: "cpu" });
  expect(placed).toBe(300);
  expect(imbalance.allocation).toBe(0);
});

test("least loaded spreads 600 CPUs over 272 by size: at most 142 of 64 on one", () => {
  const { peak, placed } = simulate("least_loaded", termsWith({}));
  expect(peak?.pressure).toBe(2.21875);
  expect(placed).toBe(300);
});

test.each(["least_loaded", "round_robin", "random"])("%s fills the fleet to the brim and not further", (strategy) => {
  const result = simulate(strategy, termsWith({ admission: "capacity" }));
  // 272 CPUs and 544 GiB take 136 of them.
  expect(result.placed).toBe(136);
  expect(result.rejected).toBe(164);
  expect(result.peak?.pressure).toBe(1);
  expect(result.reasons).toEqual({ "insufficient cpu in flight": 164 * 3 });
});

test("sandboxes that end give back what they took, whether nodes report or not", () => {
  // 60 CPUs in use on average, of 272: what is not given back would be full after 136.
  const workload = { requests: 3_000, ratePerSecond: 10, lifetimeMs: 3_000 };
  for (const heartbeatIntervalMs of [null, 1_000]) {
    const result = simulate("least_loaded", termsWith({ admission: "capacity", workload, heartbeatIntervalMs }));
    expect(result).toMatchObject({ placed: 3_000, rejected: 0 });
    expect(result.peak?.pressure).toBeLessThan(1);
  }
});

test("with heartbeats what was confirmed is settled by them: the sums stay those of the nodes", () => {
  // Were anything charged twice for good, the fleet would count as full before its 136 were placed.
  const workload = { requests: 300, ratePerSecond: 1, lifetimeMs: null };
  const result = simulate("least_loaded", termsWith({ admission: "capacity", workload, heartbeatIntervalMs: 200 }));
  expect(result.placed).toBe(136);
  expect(Object.keys(result.reasons)).toEqual(["insufficient cpu"]);
});

test("heartbeats rarer than the report ttl of a scheduler leave the nodes in", () => {
  const workload = { requests: 100, ratePerSecond: 0.1, lifetimeMs: 1_000 };
  const result = simulate("least_loaded", termsWith({ workload, heartbeatIntervalMs: 120_000 }));
  expect(result.placed).toBe(100);
});

test("on 50 equal nodes least loaded is twice as even as round robin, and peaks lower", () => {
  const terms = termsWith({
    fleet: fleetNamed("equal-50-nodes"),
    workload: { requests: 3_000, ratePerSecond: 50, lifetimeMs: 10_000 },
    request: { cpuMillicores: 1000, memoryBytes: GIB },
    admission: "capacity",
    heartbeatIntervalMs: 1_000,
  });
  const [ours, turns] = [simulate("least_loaded", terms), simulate("round_robin", terms)];
  expect(ours.imbalance.allocation).toBeLessThan(turns.imbalance.allocation / 2);
  expect(ours.peak?.pressure).toBeLessThan(0.4);
  expect(turns.peak?.pressure).toBeGreaterThan(0.5);
});

test("the same seed gives the same run, another seed another", () => {
  const terms = termsWith({
    admission: "capacity",
    workload: { requests: 2_000, ratePerSecond: 20, lifetimeMs: 10_000 },
    heartbeatIntervalMs: 1_000,
  });
  expect(simulate("random", terms)).toEqual(simulate("random", terms));
  expect(simulate("random", { ...terms, seed: 2 })).not.toEqual(simulate("random", terms));
});
