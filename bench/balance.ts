/**
 * How evenly strategies load a fleet, in virtual time: the scheduler's own core, nodes that are played, one stream of
 * requests for all. Nothing depends on the machine; same seeds, same figures.
 *
 * (a) churn: 50 nodes of 32 CPUs and 128 GiB; 30 requests/s for 60 s of 4 CPUs ± 80 % and 1 GiB ± 40 %, each uniform; lives
 * exponential with a mean of 5 s; a sandbox uses 40 % ± 20 % of its CPUs; heartbeats are live: a node sends one after each
 * create and each end. Imbalance is the standard deviation over the mean, each second from the 10th on, averaged.
 *
 * (b) burst: 10 nodes of 192 CPUs, 0 to 4 CPUs taken on each from the start; 20 requests/s of 1 CPU for 25 s, which none
 * ends; heartbeats every 20 s. Spread is the CPUs on the fullest node less those on the emptiest, at the end.
 */
import { type Amounts, PlayedNode } from "../src/actors/load/played-node.ts";
import { type Random, seededRandom } from "../src/ports/random.ts";
import { deviationOverMean } from "../src/simulation/balance.ts";
import { EventQueue } from "../src/simulation/event-queue.ts";
import { CorePlacer, type Placer, SamplingPlacer } from "./balance-strategies.ts";
import { print } from "./measuring.ts";

const GIB = 2 ** 30;
const SEEDS = Array.from({ length: 20 }, (_, index) => index + 1);
const SAMPLE_MS = 1_000;
/** Nodes have been there for a while when the first request comes: what they had at first is no news any more. */
const REPORTS_BEFORE = 4;

interface Sandbox {
  readonly atMs: number;
  readonly amounts: Amounts;
  /** Null: it never ends. */
  readonly lifetimeMs: number | null;
  /** Of its CPUs, as a ratio. */
  readonly use: number;
}

interface Terms {
  readonly nodes: number;
  readonly capacity: Amounts;
  readonly heartbeatMs: number;
  /** Whether a node sends one after each change too. */
  readonly live: boolean;
  /** From the first request on. */
  readonly durationMs: number;
  /** Samples before do not count. */
  readonly settledMs: number;
  readonly takenCpuMillicores: (random: Random) => number;
  readonly stream: (random: Random) => readonly Sandbox[];
}

/** Uniform within `mean` ± `share` of it. */
function around(mean: number, share: number, random: Random): number {
  return mean * (1 + share * (2 * random.fraction() - 1));
}

const CHURN: Terms = {
  nodes: 50,
  capacity: { cpuMillicores: 32_000, memoryBytes: 128 * GIB },
  heartbeatMs: 5_000,
  live: true,
  durationMs: 60_000,
  settledMs: 10_000,
  takenCpuMillicores: () => 0,
  stream: (random) =>
    Array.from({ length: 30 * 60 }, (_, number) => ({
      atMs: (number * 1000) / 30,
      amounts: {
        cpuMillicores: Math.round(around(4_000, 0.8, random)),
        memoryBytes: Math.round(around(GIB, 0.4, random)),
      },
      lifetimeMs: -5_000 * Math.log(1 - random.fraction()),
      use: around(0.4, 0.5, random),
    })),
};

const BURST: Terms = {
  nodes: 10,
  capacity: { cpuMillicores: 192_000, memoryBytes: 2048 * GIB },
  heartbeatMs: 20_000,
  live: false,
  durationMs: 25_000,
  settledMs: 25_000,
  takenCpuMillicores: (random) => Math.round(4_000 * random.fraction()),
  stream: () =>
    Array.from({ length: 20 * 25 }, (_, number) => ({
      atMs: number * 50,
      amounts: { cpuMillicores: 1_000, memoryBytes: GIB },
      lifetimeMs: null,
      use: 1,
    })),
};

interface Balance {
  readonly allocation: number;
  readonly use: number;
  readonly spreadCpu: number;
  readonly refused: number;
}

type Happening =
  | { readonly type: "arrival"; readonly sandbox: Sandbox; readonly number: number }
  | { readonly type: "end"; readonly member: Member; readonly sandboxId: string; readonly sandbox: Sandbox }
  | { readonly type: "heartbeat"; readonly member: Member }
  | { readonly type: "sample" };

interface Member {
  readonly node: PlayedNode;
  usedMillicores: number;
}

function run(placer: Placer, terms: Terms, seed: number): Balance {
  const random = seededRandom(seed);
  const fleet = new Map<string, Member>();
  const queue = new EventQueue<Happening>();
  for (let position = 0; position < terms.nodes; position++) {
    const member = newMember(`node-${position}`, terms, random);
    fleet.set(member.node.terms.nodeId, member);
    placer.report(member.node, 0);
    // Nodes take turns over the interval, as they do where each was started on its own.
    queue.push(((position + 1) * terms.heartbeatMs) / terms.nodes, { type: "heartbeat", member });
  }
  const startMs = REPORTS_BEFORE * terms.heartbeatMs;
  const endMs = startMs + terms.durationMs;
  for (const [number, sandbox] of terms.stream(random).entries()) {
    queue.push(startMs + sandbox.atMs, { type: "arrival", sandbox, number });
  }
  for (let atMs = startMs + terms.settledMs; atMs <= endMs; atMs += SAMPLE_MS) queue.push(atMs, { type: "sample" });

  const members = [...fleet.values()];
  const samples: Omit<Balance, "refused">[] = [];
  let refused = 0;
  const happen = (event: Happening, nowMs: number): void => {
    switch (event.type) {
      case "arrival": {
        const { sandbox, number } = event;
        const sandboxId = `sandbox-${number}`;
        const nodeId = placer.place({ sandboxId, amounts: sandbox.amounts }, nowMs);
        const member = fleet.get(nodeId ?? "");
        if (member === undefined) {
          refused += 1;
          return;
        }
        member.node.create(sandboxId, sandbox.amounts);
        member.usedMillicores += sandbox.use * sandbox.amounts.cpuMillicores;
        if (terms.live) placer.report(member.node, nowMs);
        if (sandbox.lifetimeMs === null) return;
        queue.push(nowMs + sandbox.lifetimeMs, { type: "end", member, sandboxId, sandbox });
        return;
      }
      case "end": {
        const { member, sandboxId, sandbox } = event;
        member.node.delete(sandboxId);
        member.usedMillicores -= sandbox.use * sandbox.amounts.cpuMillicores;
        placer.ended(member.node, sandboxId, nowMs);
        if (terms.live) placer.report(member.node, nowMs);
        return;
      }
      case "heartbeat":
        placer.report(event.member.node, nowMs);
        return queue.push(nowMs + terms.heartbeatMs, event);
      case "sample":
        samples.push(balanceOf(members));
        return;
      default:
        event satisfies never;
    }
  };
  for (let next = queue.pop(); next !== undefined && next.atMs <= endMs; next = queue.pop()) {
    happen(next.event, next.atMs);
  }
  return { ...meanOf(samples), refused };
}

function newMember(nodeId: string, terms: Terms, random: Random): Member {
  const node = new PlayedNode({
    nodeId,
    endpoint: `${nodeId}:1`,
    serviceInstanceId: `${nodeId}-1`,
    capacity: terms.capacity,
  });
  const cpuMillicores = terms.takenCpuMillicores(random);
  if (cpuMillicores > 0) node.create(`first-of-${nodeId}`, { cpuMillicores, memoryBytes: 0 });
  return { node, usedMillicores: cpuMillicores };
}

function balanceOf(members: readonly Member[]): Omit<Balance, "refused"> {
  const allocated = members.map(({ node }) => node.allocated.cpuMillicores);
  return {
    allocation: deviationOverMean(allocated),
    use: deviationOverMean(members.map(({ usedMillicores }) => usedMillicores)),
    spreadCpu: (Math.max(...allocated) - Math.min(...allocated)) / 1000,
  };
}

function meanOf(samples: readonly Omit<Balance, "refused">[]): Omit<Balance, "refused"> {
  const mean = (key: "allocation" | "use" | "spreadCpu"): number =>
    samples.reduce((sum, sample) => sum + sample[key], 0) / samples.length;
  return { allocation: mean("allocation"), use: mean("use"), spreadCpu: mean("spreadCpu") };
}

type MakePlacer = (terms: Terms, seed: number) => Placer;
const core =
  (strategy: string): MakePlacer =>
  ({ heartbeatMs }, seed) =>
    new CorePlacer(strategy, { seed: seed + 1_000, heartbeatMs });
const sampling =
  (samples: number): MakePlacer =>
  (_terms, seed) =>
    new SamplingPlacer(samples, seed + 1_000);

const STRATEGIES: Readonly<Record<string, MakePlacer>> = {
  least_loaded: core("least_loaded"),
  round_robin: core("round_robin"),
  random: core("random"),
  "best of 3": sampling(3),
  "best of 5": sampling(5),
};

/** Means over the seeds; of the spread the largest. */
function overSeeds(make: MakePlacer, terms: Terms): Balance {
  const runs = SEEDS.map((seed) => run(make(terms, seed), terms, seed));
  return {
    ...meanOf(runs),
    spreadCpu: Math.max(...runs.map(({ spreadCpu }) => spreadCpu)),
    refused: runs.reduce((sum, { refused }) => sum + refused, 0),
  };
}

const results = new Map(
  Object.entries(STRATEGIES).map(([name, make]) => [
    name,
    { churn: overSeeds(make, CHURN), burst: overSeeds(make, BURST) },
  ]),
);
const [ours, reference] = [results.get("least_loaded"), results.get("best of 5")];
if (ours === undefined || reference === undefined) throw new Error("no results");
print("bench:balance", {
  workload: [
    `(a) 50 nodes, 30 requests/s of 4 CPUs ± 80 % for 60 s, lives of 5 s: imbalance of allocation and of use;`,
    `(b) 10 nodes, 500 requests of 1 CPU between two heartbeats: spread in CPUs; ${SEEDS.length} seeds.`,
  ],
  header: ["STRATEGY", "(a) ALLOCATION", "(a) USE", "(a) REFUSED", "(b) SPREAD", "(b) REFUSED"],
  rows: [...results].map(([name, { churn, burst }]) => [
    name,
    churn.allocation.toFixed(3),
    churn.use.toFixed(3),
    String(churn.refused),
    burst.spreadCpu.toFixed(2),
    String(burst.refused),
  ]),
  figures: {
    allocation_of_best_5: (ours.churn.allocation / reference.churn.allocation).toFixed(3),
    use_of_best_5: (ours.churn.use / reference.churn.use).toFixed(3),
    spread_cpu: ours.burst.spreadCpu.toFixed(2),
  },
});
