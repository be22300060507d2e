/**
 * What one decision costs in the placement core, without mailbox, thread or network.
 *
 * Workload: nodes of 192 CPUs and 2 TiB, node i with i mod 160 CPUs and i mod 1800 GiB allocated; requests of 2 CPUs and
 * 2 GiB, least_loaded. `schedule` selects and reserves, token included; `life` is that, the confirm, and the report of the
 * node by whose roster it settles. What was reserved is cancelled, or has ended, before the next batch, not timed.
 * `scan` is the plain scan's selection alone, over the same nodes in the same state.
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
import { systemRandom } from "../src/ports/random.ts";
import { inTurns, median, print } from "./measuring.ts";

const SIZES = [10, 100, 1_000, 10_000, 100_000];
const GIB = 2 ** 30;
/** Small enough for 10 nodes to hold a batch, and that the settled nodes are mostly different ones. */
const BATCH = 50;
const ROUNDS = 7;
const WARM_UPS = 2;
/** Nodes looked at per round by a scan, which bounds the time that one size takes. */
const VISITS_PER_ROUND = 1_500_000;
const OPERATIONS = { least: 50, most: 5_000 };

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
  scheduleRound(operations: number): number {
    return timedInBatches(operations, () => {
      const made: ReservationView[] = [];
      const timedUs = timed(() => {
        for (let turn = 0; turn < BATCH; turn++) made.push(this.schedule());
      });
      for (const { id } of made) this.placement.onCancel({ type: "cancel", handle: id, reason: null }, NOW);
      return timedUs;
    });
  }

  /** Time of a whole life, per operation. */
  lifeRound(operations: number): number {
    return timedInBatches(operations, () => {
      const rosters = new Map<number, string[]>();
      const timedUs = timed(() => {
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
      return timedUs;
    });
  }

  scanRound(operations: number): number {
    const { core } = this.placement;
    const demand = demandOf(REQUEST);
    return timedInBatches(operations, () =>
      timed(() => {
        for (let turn = 0; turn < BATCH; turn++) {
          const rules = rulesAt(core, NOW.nowMs);
          const context = { config: core.config, nowMs: NOW.nowMs, random: systemRandom };
          selectByScan(core.fleet.nodes.values(), { demand, rules, strategy: leastLoaded, context });
        }
      }),
    );
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

/** Microseconds of this thread on a CPU: what other processes take of the machine in between does not count. */
function timed(run: () => void): number {
  const start = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(start);
  return user + system;
}

/** Nanoseconds per operation. */
function timedInBatches(operations: number, batch: () => number): number {
  let totalUs = 0;
  for (let done = 0; done < operations; done += BATCH) totalUs += batch();
  return (totalUs * 1000) / operations;
}

const rows: string[][] = [];
const figures: Record<string, string | number> = {};
for (const size of SIZES) {
  const fleet = new Fleet(size);
  const bounded = Math.min(OPERATIONS.most, Math.max(OPERATIONS.least, VISITS_PER_ROUND / size));
  const operations = BATCH * Math.ceil(bounded / BATCH);
  const results = await inTurns(
    [
      { name: "schedule", round: () => fleet.scheduleRound(operations) },
      { name: "life", round: () => fleet.lifeRound(operations) },
      { name: "scan", round: () => fleet.scanRound(operations) },
    ],
    { rounds: ROUNDS, warmUps: WARM_UPS },
  );
  const [schedule, life, scan] = ["schedule", "life", "scan"].map((name) => median(results.get(name) ?? []));
  if (schedule === undefined || life === undefined || scan === undefined) throw new Error("no rounds");
  const speedUp = (scan / schedule).toFixed(2);
  rows.push(
    [size, operations * ROUNDS, schedule, life, scan].map((value) => String(Math.round(value))).concat(speedUp),
  );
  Object.assign(figures, { [`schedule_${size}_ns`]: Math.round(schedule), [`scan_to_schedule_${size}`]: speedUp });
}

print("bench:placement", {
  workload: [
    "least_loaded; nodes of 192 CPUs and 2 TiB, node i with i mod 160 CPUs and i mod 1800 GiB allocated;",
    `requests of 2 CPUs and 2 GiB; medians of ${ROUNDS} rounds, in CPU time of the thread. The core selects by`,
    "the plain scan itself, so that a schedule costs a scan and the reservation; no index is measured here.",
  ],
  header: ["NODES", "OPERATIONS", "SCHEDULE ns", "LIFE ns", "PLAIN SCAN ns", "SCAN ÷ SCHEDULE"],
  rows,
  figures,
});
