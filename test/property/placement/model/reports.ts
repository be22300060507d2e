/** placement.md, 5.1 and section 6: what a heartbeat does to its node. */

import type { Heartbeat, ResourceReport, SnapshotReport } from "../../../../src/messages/nodes.ts";
import { CONDITIONS } from "../../../../src/messages/nodes.ts";
import { METRIC_OF } from "./candidates.ts";
import { type Amounts, type Demand, isFresh, type ModelNode, type ModelPart, type ModelState } from "./facts.ts";
import { judgeRoster, judgeSnapshot } from "./settling.ts";

/** "by at most 60 s (an overtaken report; the node's clock against itself)". */
const OVERTAKEN_MS = 60_000;

type Reception = "ignored" | "sign of life" | "same instance" | "new instance";

/** Decides about one part, and notes that it was heard. */
function receive(
  state: ModelState,
  parts: { readonly part: ModelPart | null; readonly superseded: Set<string>; readonly set: (part: ModelPart) => void },
  heartbeat: Heartbeat,
  nowMs: number,
): Reception {
  const { part, superseded, set } = parts;
  const { serviceInstanceId: instance, sequence } = heartbeat;
  const reportedAtUnixMs = heartbeat.snapshot?.reportedAtUnixMs ?? null;
  if (part === null || part.instance !== instance) {
    // "A superseded instance is ignored while the newer one is fresh."
    if (part !== null && superseded.has(instance) && isFresh(state, part, nowMs)) return "ignored";
    if (part !== null) superseded.add(part.instance);
    superseded.delete(instance);
    set({ instance, heardMs: nowMs, stallEndMs: Number.NEGATIVE_INFINITY, sequence, reportedAtUnixMs });
    return "new instance";
  }
  part.heardMs = nowMs;
  if (sequence !== null && part.sequence !== null) {
    if (sequence <= part.sequence) return "sign of life";
  } else if (reportedAtUnixMs !== null && part.reportedAtUnixMs !== null) {
    const behindMs = part.reportedAtUnixMs - reportedAtUnixMs;
    if (behindMs >= 0 && behindMs <= OVERTAKEN_MS) return "sign of life";
  }
  part.sequence = sequence ?? part.sequence;
  part.reportedAtUnixMs = reportedAtUnixMs ?? part.reportedAtUnixMs;
  return "same instance";
}

/** Whether any part of the heartbeat was taken in as a report. */
export function takeHeartbeat(state: ModelState, node: ModelNode, heartbeat: Heartbeat, nowMs: number): boolean {
  const { unregistered } = node;
  if (unregistered !== null) {
    // "heartbeats of an unregistered instance are ignored for 15 s."
    const isThat = unregistered.instance === heartbeat.serviceInstanceId;
    if (isThat && nowMs - unregistered.atMs < state.config.unregisteredQuietMs) return false;
  }
  const byRuntime = heartbeat.snapshot !== null && takeRuntime(state, node, heartbeat, heartbeat.snapshot, nowMs);
  const byDaemon = heartbeat.resource !== null && takeDaemon(state, node, heartbeat, heartbeat.resource, nowMs);
  if (!byRuntime && !byDaemon) return false;
  node.unregistered = null;
  if (!node.configured && heartbeat.endpoint !== null) node.endpoint = heartbeat.endpoint;
  return true;
}

function takeRuntime(
  state: ModelState,
  node: ModelNode,
  heartbeat: Heartbeat,
  snapshot: SnapshotReport,
  nowMs: number,
): boolean {
  const set = (part: ModelPart): void => {
    node.runtime = part;
  };
  const parts = { part: node.runtime, superseded: node.supersededRuntimes, set };
  const reception = receive(state, parts, heartbeat, nowMs);
  if (reception === "ignored" || reception === "sign of life") return false;
  // "Its first snapshot ends that for good."
  node.runtimeSeen = true;
  node.ledger = false;
  state.reported.add(node.nodeId);
  const before = node.snapshot;
  // "A changed instance is a new epoch: new baseline, no delta across it; so is any counter below the last."
  const newEpoch =
    reception === "new instance" ||
    before === null ||
    snapshot.createSuccesses < before.createSuccesses ||
    snapshot.createFails < before.createFails;
  if (newEpoch) {
    // A configured instance id survives a restart; then only the counters tell, and "of the same instance" (5.2) and "of
    // a newer instance" (5.3) are read as of the epoch.
    node.instances += 1;
    node.rosters = [];
    node.rosterInEpoch = false;
  }
  node.snapshot = snapshot;
  node.snapshotCapacity = keepKnown(node.snapshotCapacity, snapshot);
  const roster = heartbeat.sandboxIds;
  if (roster !== null) {
    node.rosterInEpoch = true;
    node.rosterIncrease = newEpoch || before === null ? null : increaseOf(before, snapshot);
    node.rosters.push(roster);
    node.newestRoster = roster;
    judgeRoster(state, node, nowMs);
    for (const id of roster) if (!node.firstListed.has(id)) node.firstListed.set(id, state.position);
  }
  judgeSnapshot(state, node, nowMs);
  return true;
}

/** "the last known positive one stays in force." */
function keepKnown(known: Demand, report: SnapshotReport | ResourceReport): Demand {
  return {
    cpu: report.cpuCapacityMillicores > 0 ? report.cpuCapacityMillicores : known.cpu,
    memory: report.memoryCapacityBytes > 0 ? report.memoryCapacityBytes : known.memory,
  };
}

function increaseOf(before: SnapshotReport, after: SnapshotReport): Amounts {
  const cpu = (report: SnapshotReport): number => report.allocatedCpuMillicores + report.pausedAllocatedCpuMillicores;
  const memory = (report: SnapshotReport): number => report.allocatedMemoryBytes + report.pausedAllocatedMemoryBytes;
  return { cpu: cpu(after) - cpu(before), memory: memory(after) - memory(before) };
}

function takeDaemon(
  state: ModelState,
  node: ModelNode,
  heartbeat: Heartbeat,
  resource: ResourceReport,
  nowMs: number,
): boolean {
  const set = (part: ModelPart): void => {
    node.daemon = part;
  };
  const parts = { part: node.daemon, superseded: node.supersededDaemons, set };
  const reception = receive(state, parts, { ...heartbeat, snapshot: null }, nowMs);
  if (reception === "ignored" || reception === "sign of life") return false;
  if (heartbeat.inventoryNone && !node.runtimeSeen) node.ledger = true;
  if (node.ledger) state.reported.add(node.nodeId);
  node.resourceCapacity = keepKnown(node.resourceCapacity, resource);
  takeBoot(state, node, heartbeat.bootId);
  // "as do a gap longer than `report_ttl`": between two samples, whatever came between them.
  const isGap = nowMs - node.sampledMs > state.config.reportTtlMs;
  if (reception === "new instance" || isGap) {
    node.highSamples.clear();
    node.lowSamples.clear();
  }
  // "The same observation sent again (`resource_sequence` unchanged) is no new sample."
  const isSameSample =
    reception === "same instance" &&
    heartbeat.resourceSequence !== null &&
    heartbeat.resourceSequence === node.resourceSequence;
  node.utilization = resource.utilization;
  node.resourceSequence = heartbeat.resourceSequence;
  if (!isSameSample) takeSamples(state, node, resource, nowMs);
  return true;
}

/** 5.2, ledger node: "a changed `boot_id` … releases (`rebooted`) the pending and confirmed ones made before the last
 * report of the old boot arrived". */
function takeBoot(state: ModelState, node: ModelNode, bootId: string | null): void {
  if (bootId === null) return;
  if (node.ledger && node.bootId !== null && node.bootId !== bootId) {
    for (const reservation of state.reservations) {
      const { nodeId, state: status } = reservation;
      if (nodeId !== node.nodeId || (status !== "pending" && status !== "confirmed")) continue;
      if (reservation.madeAt > node.bootReportedAt) continue;
      reservation.state = "released";
      reservation.reason = "rebooted";
    }
  }
  node.bootId = bootId;
  node.bootReportedAt = state.position;
}

/** Section 6: "enter at ≥ 0.90 in 6 consecutive samples, recover below 0.80 in 2"; null breaks both streaks. */
function takeSamples(state: ModelState, node: ModelNode, resource: ResourceReport, nowMs: number): void {
  node.sampledMs = nowMs;
  for (const condition of CONDITIONS) {
    const metric = METRIC_OF[condition];
    const rule = state.config.pressure[metric];
    const value = resource.utilization[metric];
    // Under a condition nothing counts towards it: cleared, "it may come back after as many samples as the first time".
    const counts = value !== null && value >= rule.enterAt && !node.conditions.has(condition);
    const high = counts ? (node.highSamples.get(condition) ?? 0) + 1 : 0;
    const low = value !== null && value < rule.recoverBelow ? (node.lowSamples.get(condition) ?? 0) + 1 : 0;
    node.highSamples.set(condition, high);
    node.lowSamples.set(condition, low);
    if (high >= rule.enterSamples) node.conditions.add(condition);
    if (low >= rule.recoverSamples) node.conditions.delete(condition);
  }
}
