/**
 * What one decision costs in the placement core, without mailbox, thread or network, for fleets of 10 to 100 000 nodes
 * under the workloads of `placement-workloads.ts`, `least_loaded`.
 *
 * `schedule` selects and reserves, token included; `life` is that, the confirm, and the report of the node by whose
 * roster it settles. What was reserved is cancelled, or has ended, before the next batch, not timed. `scan` is the plain
 * scan's selection alone, over the same nodes in the same state; `pick` is a whole schedule without a hint, which selects
 * and reserves nothing. All take turns, with the same warm-up and as many batches; on large fleets a batch of the scan
 * holds fewer selections. `bytes` is what the heap grows by per schedule.
 */
import { demandOf } from "../src/actors/placement/candidates.ts";
import { defaultPlacementConfig } from "../src/actors/placement/config.ts";
import { rulesAt } from "../src/actors/placement/core.ts";
import type { Instant } from "../src/actors/placement/instant.ts";
import { selectByScan } from "../src/actors/placement/plain-scan.ts";
import { leastLoaded } from "../src/actors/placement/ranking/least-loaded.ts";
import { createPlacement, type Placement } from "../src/actors/placement/state.ts";
import type { ReservationView, Schedule } from "../src/messages/placement.ts";
import { systemClock } from "../src/ports/clock.ts";
import { systemRandom } from "../src/ports/random.ts";
import { inTurns, median, print } from "./measuring.ts";
import { heartbeatOf, type Report, type Workload, workloads } from "./placement-workloads.ts";

const SIZES = [10, 100, 1_000, 10_000, 100_000];
/** Few enough for the one open node of ten that are nearly full. */
const BATCH = 50;
const ROUNDS = 5;
const WARM_UPS = 2;
const BATCHES = 20;
/** Nodes looked at per batch of scans: what a selection costs there does not depend on how many are in a batch. */
const VISITS_PER_BATCH = 10_000;
/** So that the first rows are not those of code that has just been compiled. */
const FIRST_WARM_UP_BATCHES = 2_000;

const NOW: Instant = { nowMs: 1_000, wallMs: Date.UTC(2026, 0, 1) };

class Fleet {
  readonly #workload: Workload;
  readonly #placement: Placement;
  #sequence = 0;
  #sandboxes = 0;
  /** Heap growth per schedule, of each batch in which nothing was collected. */
  readonly bytes: number[] = [];

  constructor(workload: Workload, nodes: number) {
    this.#workload = workload;
    this.#placement = createPlacement({ ...defaultPlacementConfig, nodesMax: nodes }, { random: systemRandom }, NOW);
    for (let position = 0; position < nodes; position++) this.#report(position, []);
  }

  /** Nanoseconds of selecting and reserving. */
  scheduleRound(batches = BATCHES): number {
    return medianNs(BATCH, batches, () => {
      const made: ReservationView[] = [];
      const requests = Array.from({ length: BATCH }, () => this.#workload.request());
      const heapBefore = process.memoryUsage().heapUsed;
      const timedMs = timed(() => {
        for (const request of requests) made.push(this.#schedule(request));
      });
      const grown = process.memoryUsage().heapUsed - heapBefore;
      if (grown > 0) this.bytes.push(grown / BATCH);
      for (const { id } of made) this.#placement.handle({ type: "cancel", handle: id, reason: null }, NOW);
      return timedMs;
    });
  }

  /** Nanoseconds of selecting without a reservation. */
  pickRound(): number {
    const request: Schedule = { ...this.#workload.request(), hint: "none", cpuMillicores: null, memoryBytes: null };
    return medianNs(BATCH, BATCHES, () =>
      timed(() => {
        for (let turn = 0; turn < BATCH; turn++) this.#placement.handle(request, NOW);
      }),
    );
  }

  /** Nanoseconds of a whole life. */
  lifeRound(): number {
    return medianNs(BATCH, BATCHES, () => {
      const requests = Array.from({ length: BATCH }, () => this.#workload.request());
      const rosters = new Map<string, Report["sandboxes"][number][]>();
      const timedMs = timed(() => {
        for (const request of requests) {
          const { id, nodeId } = this.#schedule(request);
          const sandboxId = `s${this.#sandboxes++}`;
          this.#placement.handle({ type: "confirm", handle: id, sandboxId, force: false }, NOW);
          const roster = rosters.get(nodeId);
          if (roster === undefined) rosters.set(nodeId, [{ id: sandboxId, request }]);
          else roster.push({ id: sandboxId, request });
        }
        for (const [nodeId, roster] of rosters) this.#report(Number(nodeId.slice(1)), roster);
      });
      for (const nodeId of rosters.keys()) this.#report(Number(nodeId.slice(1)), []);
      return timedMs;
    });
  }

  /** Nanoseconds of a selection by the plain scan. */
  scanRound(selections: number): number {
    const { core } = this.#placement;
    return medianNs(selections, BATCHES, () => {
      const demand = demandOf(this.#workload.request());
      return timed(() => {
        for (let turn = 0; turn < selections; turn++) {
          const rules = rulesAt(core, NOW.nowMs);
          const context = { config: core.config, nowMs: NOW.nowMs, random: systemRandom };
          selectByScan(core.fleet.nodes.values(), { demand, rules, strategy: leastLoaded, context });
        }
      });
    });
  }

  #schedule(request: Schedule): ReservationView {
    const { reply } = this.#placement.handle(request, NOW);
    if (!reply.ok || reply.answer.reservation === null) throw new Error("the workload does not fit");
    return reply.answer.reservation;
  }

  #report(position: number, sandboxes: Report["sandboxes"]): void {
    this.#sequence += 1;
    const heartbeat = heartbeatOf(this.#workload, { position, sequence: this.#sequence, sandboxes });
    const { reply } = this.#placement.handle(heartbeat, NOW);
    if (!reply.ok) throw new Error(reply.refusal.message);
  }
}

function timed(run: () => void): number {
  const startMs = systemClock.monotonicMs();
  run();
  return systemClock.monotonicMs() - startMs;
}

/** Nanoseconds per operation: of the median batch, which another process has not interrupted. */
function medianNs(operations: number, batches: number, batch: () => number): number {
  return (median(Array.from({ length: batches }, batch)) * 1e6) / operations;
}

interface Result {
  readonly scheduleNs: number;
  readonly lifeNs: number;
  readonly pickNs: number;
  readonly scanNs: number;
  readonly bytes: number;
}

async function measure(workload: Workload, nodes: number): Promise<Result> {
  const fleet = new Fleet(workload, nodes);
  const selections = Math.max(1, Math.min(BATCH, Math.ceil(VISITS_PER_BATCH / nodes)));
  const results = await inTurns(
    [
      { name: "schedule", round: () => fleet.scheduleRound() },
      { name: "life", round: () => fleet.lifeRound() },
      { name: "pick", round: () => fleet.pickRound() },
      { name: "scan", round: () => fleet.scanRound(selections) },
    ],
    { rounds: ROUNDS, warmUps: WARM_UPS },
  );
  const ofRounds = (name: string): number => median(results.get(name) ?? []);
  return {
    scheduleNs: ofRounds("schedule"),
    lifeNs: ofRounds("life"),
    pickNs: ofRounds("pick"),
    scanNs: ofRounds("scan"),
    bytes: median(fleet.bytes),
  };
}

const rows: string[][] = [];
const figures: Record<string, string | number> = {};
const all = workloads();
const [own] = all;
if (own !== undefined) new Fleet(own, 100).scheduleRound(FIRST_WARM_UP_BATCHES);
for (const workload of all) {
  const schedules = new Map<number, number>();
  for (const nodes of SIZES) {
    const { scheduleNs, lifeNs, pickNs, scanNs, bytes } = await measure(workload, nodes);
    schedules.set(nodes, scheduleNs);
    const ratio = scanNs / scheduleNs;
    rows.push([
      workload.name,
      String(nodes),
      ...[scheduleNs, lifeNs, pickNs, scanNs].map((ns) => String(Math.round(ns))),
      ratio.toFixed(ratio < 10 ? 1 : 0),
      String(Math.round(bytes)),
    ]);
    if (workload === own) {
      figures[`schedule_${nodes}_ns`] = Math.round(scheduleNs);
      figures[`scan_to_schedule_${nodes}`] = ratio.toFixed(1);
      if (nodes === 1_000)
        Object.assign(figures, {
          life_1000_ns: Math.round(lifeNs),
          pick_1000_ns: Math.round(pickNs),
          bytes_1000: Math.round(bytes),
        });
    }
  }
  if (workload === own) {
    figures.schedule_100000_to_1000 = ((schedules.get(100_000) ?? 0) / (schedules.get(1_000) ?? 1)).toFixed(2);
  }
}

print("bench:placement", {
  workload: [
    `Medians of ${ROUNDS} rounds, each the median of ${BATCHES} batches; a schedule reserves, a scan only selects.`,
    ...all.map(({ name, about }) => `${name}: ${about}`),
  ],
  header: ["WORKLOAD", "NODES", "SCHEDULE ns", "LIFE ns", "PICK ns", "PLAIN SCAN ns", "SCAN ÷ SCHEDULE", "BYTES"],
  rows,
  figures,
});
