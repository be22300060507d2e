import fc from "fast-check";
import { describe, test } from "vitest";
import { defaultPlacementConfig } from "../../../src/actors/placement/config.ts";
import { violatedSums } from "../../../src/actors/placement/ledger/check-sums.ts";
import type { Amounts } from "./model/facts.ts";
import { type Fleet, type OrderlyStep, OrderlyTraffic, orderlySteps } from "./orderly-traffic.ts";
import type { NodeTraits } from "./simulated-node.ts";
import { runs, seed } from "./steps.ts";

const GIB = 2 ** 30;

const SHAPES: readonly Amounts[] = [
  { cpu: 1000, memory: GIB },
  { cpu: 1000, memory: 3 * GIB },
  { cpu: 3000, memory: GIB },
];

function roster(nodeId: string): NodeTraits {
  const capacity = { cpu: 10_000, memory: 10 * GIB };
  return { nodeId, inventory: "roster", capacity, numbersReports: true, countsCreates: true };
}

const aggregates: Fleet = {
  name: "unmanaged only, no events: aggregates",
  config: defaultPlacementConfig,
  nodes: [roster("a")],
  shapes: SHAPES,
  managedOfTen: 0,
  sendsEvents: false,
};

const FLEETS: readonly Fleet[] = [
  aggregates,
  { ...aggregates, name: "managed beside unmanaged, no events", managedOfTen: 4 },
  { ...aggregates, name: "unmanaged only, lossy events", sendsEvents: true },
  {
    ...aggregates,
    name: "managed beside unmanaged, lossy events, two nodes",
    managedOfTen: 4,
    sendsEvents: true,
    nodes: [roster("a"), roster("b")],
  },
  {
    ...aggregates,
    name: "unmanaged only, no events, successes that outrun their sums",
    nodes: [{ ...roster("a"), countsLate: true }],
  },
  { ...aggregates, name: "managed only", managedOfTen: 10, sendsEvents: true },
];

/** What each node must at least be charged, since it is there or may still come, beside what it is charged. */
function undercharged(traffic: OrderlyTraffic): string[] {
  return traffic.nodes.flatMap((node) => {
    const { nodeId } = node.traits;
    const view = traffic.view(nodeId);
    if (view === undefined || view.snapshot === null) return [];
    const owed = traffic.placed.filter(
      ({ nodeId: at, stage, sandboxId }) => at === nodeId && (stage === "to come" || node.sandboxes.has(sandboxId)),
    );
    const { sandboxCount, sandboxStartingCount, pausedSandboxCount } = view.snapshot;
    const charged = {
      cpu: view.projected.cpuMillicores,
      memory: view.projected.memoryBytes,
      count: sandboxCount + sandboxStartingCount + pausedSandboxCount + view.inFlight.count,
    };
    const needed = {
      cpu: owed.reduce((sum, { size }) => sum + size.cpu, 0),
      memory: owed.reduce((sum, { size }) => sum + size.memory, 0),
      count: owed.length,
    };
    // A count leaves at its success ("at once"); where that outruns the sums it is not in `sandbox_count` yet.
    const dimensions = node.traits.countsLate ? (["cpu", "memory"] as const) : (["cpu", "memory", "count"] as const);
    return dimensions
      .filter((dimension) => charged[dimension] < needed[dimension])
      .map((dimension) => `${nodeId}: ${dimension} charged ${charged[dimension]}, needed ${needed[dimension]}`);
  });
}

/** Where more runs than there is room for. */
function overfull(traffic: OrderlyTraffic): string[] {
  const { overcommit } = traffic.fleet.config;
  return traffic.nodes
    .filter(({ held, traits: { capacity } }) => {
      return held.cpu > capacity.cpu * overcommit.cpu || held.memory > capacity.memory * overcommit.memory;
    })
    .map(({ traits: { nodeId } }) => `${nodeId} is overfull`);
}

/** The sums of the ledger, as it keeps them, against its reservations. */
function miscounted(traffic: OrderlyTraffic): string[] {
  return violatedSums(traffic.placement.core.ledger);
}

function violations(fleet: Fleet, sequence: readonly OrderlyStep[]): string[] {
  const traffic = new OrderlyTraffic(fleet);
  for (const step of sequence) {
    traffic.take(step);
    const found = [...undercharged(traffic), ...overfull(traffic), ...miscounted(traffic)];
    if (found.length > 0) return [...found, ...traffic.log];
  }
  return [];
}

describe("charged + reported is at least what is there and still to come, and no node is overfull", () => {
  test.each(FLEETS.map((fleet) => [fleet.name, fleet] as const))("%s", (_name, fleet) => {
    fc.assert(
      fc.property(orderlySteps(200), (sequence) => {
        const found = violations(fleet, sequence);
        if (found.length > 0) throw new Error(found.join("\n"));
      }),
      { seed: seed(), numRuns: runs(150) },
    );
  });
});
