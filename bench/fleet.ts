/**
 * What the heartbeats of a very large fleet cost in the placement core and the directory of assignments, in CPU time of
 * the process: garbage collection is in it; mailboxes, HTTP and JSON are not.
 *
 * Workload: 100 000 nodes, each reporting every 5 s with 50 sandboxes. In one interval one sandbox of each node is another
 * one than before, in the next none is. Reports are made as the HTTP border makes them, from JSON, between the timed
 * batches: each holds texts of its own.
 */
import { Assignments } from "../src/actors/directory/assignments.ts";
import { defaultPlacementConfig } from "../src/actors/placement/config.ts";
import { createPlacement } from "../src/actors/placement/state.ts";
import { heartbeatBody, heartbeatMessage } from "../src/messages/http/heartbeat.ts";
import type { Heartbeat } from "../src/messages/nodes.ts";
import { systemRandom } from "../src/ports/random.ts";
import { bodyOf } from "./heartbeat-body.ts";
import { type Contender, inTurns, median, print } from "./measuring.ts";

const NODES = 100_000;
const SANDBOXES = 50;
const INTERVAL_MS = 5_000;
const BATCH = 1_000;
/** Of each; the first of all registers the nodes. */
const WARM_UPS = 1;
const ROUNDS = 3;
const START_WALL_MS = Date.UTC(2026, 0, 1);

class Fleet {
  readonly #placement = createPlacement(
    { ...defaultPlacementConfig, nodesMax: NODES },
    { random: systemRandom },
    { nowMs: 0, wallMs: START_WALL_MS },
  );
  readonly #assignments = new Assignments({ bindingTtlMs: 30_000, reportTtlMs: defaultPlacementConfig.reportTtlMs });
  #round = 0;
  #generation = 0;

  /** One interval. CPU time in microseconds per heartbeat. */
  interval({ changes }: { readonly changes: boolean }): number {
    const round = this.#round++;
    if (changes) this.#generation += 1;
    let cpuUs = 0;
    for (let first = 0; first < NODES; first += BATCH) {
      const nowMs = (round + first / NODES) * INTERVAL_MS;
      const reports = Array.from({ length: Math.min(BATCH, NODES - first) }, (_, index) =>
        this.#report(first + index, round),
      );
      const before = process.cpuUsage();
      for (const report of reports) this.#take(report, nowMs);
      const { user, system } = process.cpuUsage(before);
      cpuUs += user + system;
    }
    return cpuUs / NODES;
  }

  #take(report: Heartbeat, nowMs: number): void {
    const outcome = this.#placement.handle(report, { nowMs, wallMs: START_WALL_MS + nowMs });
    if (!outcome.reply.ok) throw new Error(outcome.reply.refusal.message);
    for (const route of outcome.routes) {
      if (route.type === "roster") this.#assignments.onRoster(route.nodeId, route.sandboxIds, nowMs);
    }
  }

  #report(position: number, round: number): Heartbeat {
    const beat = { position, round: this.#generation, sandboxes: SANDBOXES };
    const body = heartbeatBody.parse(JSON.parse(bodyOf(beat)));
    return heartbeatMessage(`node-${position}`, { ...body, sequence: round + 1, resource_sequence: round + 1 });
  }
}

const fleet = new Fleet();
const contenders: Contender<number>[] = [
  { name: "one sandbox", round: () => fleet.interval({ changes: true }) },
  { name: "nothing", round: () => fleet.interval({ changes: false }) },
];
const results = await inTurns(contenders, { rounds: ROUNDS, warmUps: WARM_UPS });
const perSecond = NODES / (INTERVAL_MS / 1000);
const figures = contenders.map(({ name }) => {
  const us = median(results.get(name) ?? []);
  return { name, us, percent: (us * perSecond) / 10_000 };
});
print("bench:fleet", {
  workload: [
    `${NODES} nodes with ${SANDBOXES} sandboxes each, a heartbeat of each every ${INTERVAL_MS / 1000} s: ${perSecond} a second; CPU time in`,
    `placement core and directory, garbage collection included; medians of ${ROUNDS} intervals.`,
  ],
  header: ["CHANGES PER NODE", "µs/HEARTBEAT", "OF A CORE"],
  rows: figures.map(({ name, us, percent }) => [name, us.toFixed(1), `${percent.toFixed(0)} %`]),
  figures: {
    changing_us: figures[0]?.us.toFixed(1) ?? "",
    same_us: figures[1]?.us.toFixed(1) ?? "",
    of_a_core: `${figures[0]?.percent.toFixed(0)}%`,
  },
});
