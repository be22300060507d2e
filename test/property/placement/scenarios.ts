/** Small fleets and configurations that between them touch every rule. */
import { defaultPlacementConfig, type PlacementConfig } from "../../../src/actors/placement/config.ts";
import type { Amounts } from "./model/facts.ts";
import type { Inventory, NodeTraits } from "./simulated-node.ts";
import type { Scenario } from "./walk.ts";

const GIB = 2 ** 30;

const SHAPES: readonly Amounts[] = [
  { cpu: 1000, memory: GIB },
  { cpu: 2000, memory: GIB },
  { cpu: 1000, memory: 3 * GIB },
  { cpu: 4000, memory: 4 * GIB },
];

function traits(nodeId: string, inventory: Inventory, set: Partial<NodeTraits> = {}): NodeTraits {
  const capacity = { cpu: 8000, memory: 12 * GIB };
  return { nodeId, inventory, capacity, numbersReports: true, countsCreates: false, ...set };
}

/** Lives within the age of a run: an hour of renewals is five minutes here. Nothing is forgotten meanwhile. */
const config: PlacementConfig = {
  ...defaultPlacementConfig,
  maxReservationAgeMs: 300_000,
  reservationRetentionMs: 86_400_000,
  conditionTtlMs: 86_400_000,
  nodeForgetTtlMs: 7 * 86_400_000,
  demotion: { failures: 3, withinMs: 300_000, forMs: 60_000 },
};

const base: Scenario = {
  name: "rosters",
  config,
  nodes: [traits("a", "roster"), traits("b", "roster", { capacity: { cpu: 16_000, memory: 16 * GIB } })],
  shapes: SHAPES,
  unmanaged: false,
  unknownDemand: false,
};

export const MODEL_SCENARIOS: readonly Scenario[] = [
  base,
  { ...base, name: "rosters ordered by the node's clock", nodes: [traits("a", "roster", { numbersReports: false })] },
  {
    ...base,
    name: "rosters and sums, counters that are reset",
    nodes: [traits("a", "roster", { countsCreates: true }), traits("b", "sums", { countsCreates: true })],
  },
  { ...base, name: "rosters, unmanaged too", unmanaged: true, unknownDemand: true },
  {
    ...base,
    name: "sums and ledger beside rosters",
    nodes: [traits("a", "sums"), traits("b", "ledger"), traits("c", "roster")],
    unknownDemand: true,
  },
  { ...base, name: "ledger only", nodes: [traits("a", "ledger"), traits("b", "ledger")], unmanaged: true },
  {
    ...base,
    name: "limits",
    config: {
      ...config,
      nodeResourceLimit: {
        ...config.nodeResourceLimit,
        maxSandboxCount: 5,
        maxSandboxStartingCount: 3,
        maxCpuAllocatedPercent: 75,
        maxMemoryUsedPercent: 40,
        maxMemoryAllocatedPercent: 80,
        maxSandboxCountIncludingPaused: 6,
        maxAllocatedCpuMillicoresIncludingPaused: 7000,
        maxAllocatedMemoryBytesIncludingPaused: 11 * GIB,
      },
    },
  },
  {
    ...base,
    name: "overcommit, light paused sandboxes, pressure demotes",
    config: {
      ...config,
      overcommit: { cpu: 2, memory: 1.5 },
      pausedWeight: { cpu: 0.25, memory: 0.5 },
      pressure: { ...config.pressure, cpu: { ...config.pressure.cpu, action: "demote" } },
      assumedResources: { cpu: 1500, memory: "none" },
    },
    unknownDemand: true,
  },
  {
    ...base,
    name: "a configured fleet, round robin",
    config: {
      ...config,
      strategy: " Round_Robin ",
      pressure: { ...config.pressure, cpu: { ...config.pressure.cpu, action: "demote" } },
      nodes: ["a", "b", "c"].map((nodeId) => ({ nodeId, endpoint: `http://${nodeId}:8080`, ledger: false })),
    },
    nodes: [traits("a", "roster"), traits("b", "sums"), traits("c", "roster"), traits("stranger", "roster")],
  },
  {
    ...base,
    name: "a configured fleet, least loaded",
    config: {
      ...config,
      nodes: ["a", "b", "c"].map((nodeId) => ({ nodeId, endpoint: `http://${nodeId}:8080`, ledger: false })),
    },
    nodes: [traits("a", "roster"), traits("b", "sums"), traits("c", "roster")],
    unknownDemand: true,
  },
];

/** With unmanaged reservations and counters that grow: settled by aggregates, which the model does not know. */
export const AGGREGATE_SCENARIOS: readonly Scenario[] = [
  {
    ...base,
    name: "unmanaged, counters grow",
    nodes: [traits("a", "roster", { countsCreates: true }), traits("b", "sums", { countsCreates: true })],
    unmanaged: true,
    unknownDemand: true,
  },
];
