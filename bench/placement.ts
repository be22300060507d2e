/**
 * What one decision costs in the placement core, without mailbox, thread or network.
 *
 * Workload: nodes of 192 CPUs and 2 TiB, node i with i mod 160 CPUs and i mod 1800 GiB allocated; requests of 2 CPUs and
 * 2 GiB, least_loaded. `schedule` selects and reserves, token included; `life` is that, the confirm, and the report of the
 * node by whose roster it settles. What was reserved is cancelled, or has ended, before the next batch, not timed.
 * `scan` is the plain scan's selection alone, over the same nodes in the same state; on large fleets its batches hold fewer.
 */

import { demandOf } from "../src/actors/placement/candidates.ts";
import { defaultPlacementConfig } from "../src/actors/placement/config.ts";
import { rulesAt } from "../src/actors/placement/core.ts";
import type { Instant } from "../src/actors/placement/events.ts";
import { selectByScan } from "../src/actors/placement/plain-scan.ts";
import { leastLoaded } from "../src/actors/placement/ranking/least-loaded.ts";
import { createPlacement, type Placement } from "../src/actors/placement/state.ts";
import type { Heartbeat } from "../src/messages/nodes.ts";
import type { ReservationView, Schedule } from "../src/messages/placement.ts";
import { systemClock } from "../src/ports/clock.ts";
import { systemRandom } from "../src/ports/random.ts";
import { inTurns, median, print } from "./measuring.ts";

const SIZES = [10, 100, 1_000, 10_000, 100_000];
const GIB = 2 ** 30;
/** Small enough for 10 nodes to hold a batch, and that the settled nodes are mostly different ones. */
const BATCH = 50;
const ROUNDS = 7;
const WARM_UPS = 2;
const BATCHES = 40;
/** Nodes looked at per batch of scans, which bounds the time that a large fleet takes: fewer selections, as many batches. */
const VISITS_PER_BATCH = 100_000;

const NOW: Instant = { nowMs: 1_000, wallMs: Date.UTC(2026, 0, 1) };

const REQUEST: Schedule = {
  type: "schedule",
  hint: "new_cold_sandbox",
  cpuMillicores: 2_000,
  memoryBytes: 2 * GIB,
  requestId: null,
  credential: "bench",
  excludeNodeIds: [],
  managed: true,
};

class Fleet {
  readonly placement: Placement;
  #sequence = 0;
  #sandboxes = 0;

  constructor(nodes: number) {
    this.placement = createPlacement(defaultPlacementConfig, { random: systemRandom }, NOW);
    for (let position = 0; position < nodes; position++) this.report(position, []);
  }

  report(position: number, sandboxIds: readonly string[]): void {
    this.#sequence += 1;
    const { reply } = this.placement.onHeartbeat(heartbeatOf(position, this.#sequence, sandboxIds), NOW);
    if (!reply.ok) throw new Error(reply.refusal.message);
  }

  schedule(): ReservationView {
    const { reply } = this.placement.onSchedule(REQUEST, NOW);
    if (!reply.ok || reply.answer.reservation === null) throw new Error("the workload does not fit");
    return reply.answer.reservation;
  }

  /** Time of selecting and reserving, per operation. */
  scheduleRound(): number {
    return timedInBatches(() => {
      const made: ReservationView[] = [];
      const timedMs = timed(() => {
        for (let turn = 0; turn < BATCH; turn++) made.push(this.schedule());
      });
      for (const { id } of made) this.placement.onCancel({ type: "cancel", handle: id, reason: null }, NOW);
      return timedMs;
    });
  }

  /** Time of a whole life, per operation. */
  lifeRound(): number {
    return timedInBatches(() => {
      const rosters = new Map<number, string[]>();
      const timedMs = timed(() => {
        for (let turn = 0; turn < BATCH; turn++) {
          const { id, nodeId } = this.schedule();
          const sandboxId = `s${this.#sandboxes++}`;
          this.placement.onConfirm({ type: "confirm", handle: id, sandboxId, force: false }, NOW);
          const position = Number(nodeId.slice(1));
          const roster = rosters.get(position);
          if (roster === undefined) rosters.set(position, [sandboxId]);
          else roster.push(sandboxId);
        }
        for (const [position, roster] of rosters) this.report(position, roster);
      });
      for (const position of rosters.keys()) this.report(position, []);
      return timedMs;
    });
  }

  scanRound(selections: number): number {
    const { core } = this.placement;
    const demand = demandOf(REQUEST);
    const batch = (): number =>
      timed(() => {
        for (let turn = 0; turn < selections; turn++) {
          const rules = rulesAt(core, NOW.nowMs);
          const context = { config: core.config, nowMs: NOW.nowMs, random: systemRandom };
          selectByScan(core.fleet.nodes.values(), { demand, rules, strategy: leastLoaded, context });
        }
      });
    return timedInBatches(batch, selections);
  }
}

function heartbeatOf(position: number, sequence: number, sandboxIds: readonly string[]): Heartbeat {
  const nodeId = `n${position}`;
  const runs = sandboxIds.length;
  return {
    type: "heartbeat",
    nodeId,
    endpoint: `${nodeId}.example:443`,
    clusterId: null,
    version: null,
    serviceInstanceId: "instance",
    sequence,
    snapshot: {
      status: "READY",
      allocatedCpuMillicores: ((position % 160) + 2 * runs) * 1000,
      allocatedMemoryBytes: ((position % 1800) + 2 * runs) * GIB,
      cpuPercent: 0,
      cpuCapacityMillicores: 192_000,
      memoryUsedBytes: 0,
      memoryCapacityBytes: 2048 * GIB,
      sandboxCount: runs,
      sandboxStartingCount: 0,
      createSuccesses: sequence,
      createFails: 0,
      reportedAtUnixMs: null,
      pausedSandboxCount: 0,
      pausedAllocatedCpuMillicores: 0,
      pausedAllocatedMemoryBytes: 0,
      disks: [],
    },
    sandboxIds,
    resource: null,
    resourceSequence: null,
    bootId: null,
    inventoryNone: false,
  };
}

function timed(run: () => void): number {
  const startMs = systemClock.monotonicMs();
  run();
  return systemClock.monotonicMs() - startMs;
}

/** Nanoseconds per operation: of the median batch, which another process has not interrupted. */
function timedInBatches(batch: () => number, operations = BATCH): number {
  return (median(Array.from({ length: BATCHES }, batch)) * 1e6) / operations;
}

const rows: string[][] = [];
const figures: Record<string, string | number> = {};
for (const size of SIZES) {
  const fleet = new Fleet(size);
  const selections = Math.max(1, Math.min(BATCH, VISITS_PER_BATCH / size));
  const results = await inTurns(
    [
      { name: "schedule", round: () => fleet.scheduleRound() },
      { name: "life", round: () => fleet.lifeRound() },
      { name: "scan", round: () => fleet.scanRound(selections) },
    ],
    { rounds: ROUNDS, warmUps: WARM_UPS },
  );
  const [schedule, life, scan] = ["schedule", "life", "scan"].map((name) => median(results.get(name) ?? []));
  if (schedule === undefined || life === undefined || scan === undefined) throw new Error("no rounds");
  const speedUp = (scan / schedule).toFixed(2);
  rows.push([size, schedule, life, scan].map((value) => String(Math.round(value))).concat(speedUp));
  Object.assign(figures, { [`schedule_${size}_ns`]: Math.round(schedule), [`scan_to_schedule_${size}`]: speedUp });
}

print("bench:placement", {
  workload: [
    "least_loaded; nodes of 192 CPUs and 2 TiB, node i with i mod 160 CPUs and i mod 1800 GiB allocated;",
    `requests of 2 CPUs and 2 GiB; medians of ${ROUNDS} rounds of ${BATCHES} batches. The plain scan only selects.`,
  ],
  header: ["NODES", "SCHEDULE ns", "LIFE ns", "PLAIN SCAN ns", "SCAN ÷ SCHEDULE"],
  rows,
  figures,
});
