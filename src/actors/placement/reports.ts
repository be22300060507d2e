/** What a heartbeat does: order first, then the figures it brings, then what they say of reservations. */
import { NODE_NOT_LISTED, refuse } from "../../messages/errors.ts";
import { CONDITIONS, type Heartbeat, type ResourceReport, type SnapshotReport } from "../../messages/nodes.ts";
import type { HeartbeatAnswer, Reply } from "../../messages/placement.ts";
import type { Core } from "./core.ts";
import {
  addCharge,
  countManagedAtBaseline,
  judgeByAggregates,
  managedUnsettled,
  nothing,
} from "./ledger/aggregates.ts";
import { accountingOf, judgeByRoster, judgeBySums } from "./ledger/identity.ts";
import { breakStreaks, countSample, METRIC_OF } from "./nodes/conditions.ts";
import { foldResource, foldSnapshot } from "./nodes/figures.ts";
import { isFresh } from "./nodes/lifecycle.ts";
import type { Node } from "./nodes/node.ts";
import { judgeReport, noteReport, type Part, type ReportStanding } from "./nodes/parts.ts";
import { type Increase, noteRoster, noteSnapshot, openEpoch, ranBackwards } from "./nodes/runtime-epoch.ts";
import type { Turn } from "./turn.ts";

export function takeHeartbeat(core: Core, turn: Turn, heartbeat: Heartbeat): Reply<HeartbeatAnswer> {
  const { nodeId } = heartbeat;
  if (!core.fleet.admits(nodeId)) return { ok: false, refusal: refuse("invalid_argument", NODE_NOT_LISTED) };
  const known = core.fleet.nodes.get(nodeId);
  if (known === undefined && core.fleet.nodes.size >= core.config.nodesMax) {
    const message = `the scheduler knows ${core.config.nodesMax} nodes, and takes a new one when it has forgotten one`;
    return { ok: false, refusal: refuse("overloaded", message) };
  }
  if (heartbeat.endpointFixed === true && movesEndpoint(known, heartbeat)) {
    const message = "only the configuration, or a token that names the node, sets its endpoint";
    return { ok: false, refusal: refuse("permission_denied", message, { field: "endpoint" }) };
  }
  if (known !== undefined && isQuiet(core, turn, known, heartbeat.serviceInstanceId)) {
    turn.notice({ type: "report_ignored", nodeId, part: heartbeat.snapshot === null ? "daemon" : "runtime" });
    return { ok: true, answer: { generation: known.generation } };
  }
  if (!known?.journaled) turn.emit({ type: "node_registered", nodeId, endpoint: heartbeat.endpoint });
  const node = core.fleet.nodes.get(nodeId);
  if (node === undefined) throw new Error(`a registered node is missing: ${nodeId}`);

  core.slots.touch(node.account);
  // The daemon part first: the first snapshot ends what it may say of an inventory.
  const daemonTaken = heartbeat.resource !== null && takeResource(core, turn, node, heartbeat, heartbeat.resource);
  const runtimeTaken = heartbeat.snapshot !== null && takeSnapshot(core, turn, node, heartbeat, heartbeat.snapshot);
  if (daemonTaken && node.ledger) routeLedger(turn, node);
  if (daemonTaken || runtimeTaken) noteIdentity(turn, node, heartbeat);
  if (runtimeTaken || (daemonTaken && node.ledger)) becomePresent(core, turn, node);
  if (daemonTaken || runtimeTaken) node.generation += 1;
  return { ok: true, answer: { generation: node.generation } };
}

/** Where no runtime lists what runs, the ledger is the roster: look-ups go on for as long as a sandbox is charged. */
function routeLedger(turn: Turn, node: Node): void {
  const sandboxIds: string[] = [];
  for (const { sandboxId } of node.account.confirmed) if (sandboxId !== null) sandboxIds.push(sandboxId);
  turn.route({ type: "roster", nodeId: node.nodeId, sandboxIds });
}

/** An instance that has just unregistered may have reports under way; they must not bring it back. */
function isQuiet(core: Core, turn: Turn, node: Node, serviceInstanceId: string): boolean {
  const { unregistered } = node;
  if (unregistered === null || unregistered.serviceInstanceId !== serviceInstanceId) return false;
  return turn.now.nowMs - unregistered.atMs < core.config.unregisteredQuietMs;
}

function movesEndpoint(known: Node | undefined, { endpoint }: Heartbeat): boolean {
  if (endpoint === null || (known !== undefined && known.configured !== null)) return false;
  return endpoint !== (known?.endpoint ?? null);
}

function noteIdentity(turn: Turn, node: Node, heartbeat: Heartbeat): void {
  node.clusterId = heartbeat.clusterId ?? node.clusterId;
  node.version = heartbeat.version ?? node.version;
  const { endpoint } = heartbeat;
  if (endpoint === null || endpoint === node.endpoint || node.configured !== null) return;
  turn.emit({ type: "node_endpoint_set", nodeId: node.nodeId, endpoint });
}

/** The part that makes it a candidate has spoken: it is awaited no more, and registered again. */
function becomePresent(core: Core, turn: Turn, node: Node): void {
  node.awaited = false;
  core.guarded.delete(node.nodeId);
  if (node.unregistered === null) return;
  turn.emit({ type: "node_registered", nodeId: node.nodeId, endpoint: null });
}

/** Judges and notes the place of a report; null when it has no effect beyond that. */
function admit(turn: Turn, node: Node, part: Part, report: ArrivingReport): ReportStanding | null {
  const standing = judgeReport(part, report, report.fresh);
  noteReport(part, report, standing, turn.now.nowMs);
  const about = { nodeId: node.nodeId, part: report.part } as const;
  if (standing === "ignored") turn.notice({ type: "report_ignored", ...about });
  else if (standing === "sign_of_life") turn.notice({ type: "sign_of_life", ...about });
  else if (standing === "returned_instance") turn.notice({ type: "identity_conflict", ...about });
  return standing === "ignored" || standing === "sign_of_life" ? null : standing;
}

interface ArrivingReport {
  readonly part: "runtime" | "daemon";
  readonly serviceInstanceId: string;
  readonly sequence: number | null;
  readonly reportedAtUnixMs: number | null;
  /** Whether the present instance of the part still speaks. */
  readonly fresh: boolean;
}

/** That the node has unregistered makes no difference: a late report of an instance before must not bring it back. */
function hears(core: Core, turn: Turn, part: Part): boolean {
  return isFresh(part, { nowMs: turn.now.nowMs, reportTtlMs: core.config.reportTtlMs });
}

function takeResource(core: Core, turn: Turn, node: Node, heartbeat: Heartbeat, resource: ResourceReport): boolean {
  const { serviceInstanceId, sequence } = heartbeat;
  const fresh = hears(core, turn, node.daemon);
  const standing = admit(turn, node, node.daemon, {
    part: "daemon",
    serviceInstanceId,
    sequence,
    reportedAtUnixMs: null,
    fresh,
  });
  if (standing === null) return false;
  foldResource(node.figures, resource);
  node.utilization = resource.utilization;
  takeSamples(core, turn, node, {
    resource,
    resourceSequence: heartbeat.resourceSequence,
    newInstance: standing !== "in_order",
  });
  const ledger = !node.runtimeSeen && (heartbeat.inventoryNone || (node.configured?.ledger ?? false));
  if (ledger !== node.ledger) turn.emit({ type: "node_ledger_set", nodeId: node.nodeId, ledger });
  if (node.ledger && heartbeat.bootId !== null) takeBootId(turn, node, heartbeat.bootId);
  return true;
}

/** A changed boot ends what was there before the last report of the old one; what was made since stays. */
function takeBootId(turn: Turn, node: Node, bootId: string): void {
  const { account, witnessPosition } = node;
  // No boot comes twice: this is a report that was long under way.
  if (node.formerBootIds.includes(bootId)) return;
  if (node.bootId !== null && node.bootId !== bootId) {
    for (const reservation of [...account.pending, ...account.confirmed]) {
      if (reservation.position >= witnessPosition) continue;
      turn.emit({ type: "released", id: reservation.terms.id, reason: "rebooted" });
    }
  }
  // Only a report that comes after a reservation changes what the next boot would end: no event for the others.
  if (node.bootId === bootId && (account.newest?.position ?? 0) <= witnessPosition) return;
  turn.emit({ type: "boot_witnessed", nodeId: node.nodeId, bootId });
}

interface Samples {
  readonly resource: ResourceReport;
  readonly resourceSequence: number | null;
  readonly newInstance: boolean;
}

function takeSamples(core: Core, turn: Turn, node: Node, samples: Samples): void {
  const { streaks, nodeId } = node;
  const { nowMs } = turn.now;
  const gapMs = nowMs - (streaks.lastSampleAtMs ?? nowMs);
  if (samples.newInstance || gapMs > core.config.reportTtlMs) breakStreaks(streaks);
  const { resourceSequence } = samples;
  const again = !samples.newInstance && resourceSequence !== null && resourceSequence === streaks.lastResourceSequence;
  if (again) return;
  streaks.lastResourceSequence = resourceSequence;
  streaks.lastSampleAtMs = nowMs;
  for (const condition of CONDITIONS) {
    const metric = METRIC_OF[condition];
    const value = samples.resource.utilization[metric];
    const active = node.conditions.has(condition);
    const change = countSample(streaks.of[condition], value, core.config.pressure[metric], active);
    if (change === null || value === null) continue;
    if (change === "entered") turn.emit({ type: "condition_entered", nodeId, condition, value });
    else turn.emit({ type: "condition_left", nodeId, condition, cause: "recovered", value });
  }
}

function takeSnapshot(core: Core, turn: Turn, node: Node, heartbeat: Heartbeat, snapshot: SnapshotReport): boolean {
  const { serviceInstanceId, sequence } = heartbeat;
  const fresh = hears(core, turn, node.runtime);
  const { reportedAtUnixMs } = snapshot;
  const report = { part: "runtime", serviceInstanceId, sequence, reportedAtUnixMs, fresh } as const;
  const standing = admit(turn, node, node.runtime, report);
  if (standing === null) return false;
  if (!node.runtimeSeen) meetRuntime(core, turn, node);
  const increase = advanceEpoch(turn, node, standing, snapshot);
  foldSnapshot(node.figures, snapshot);
  node.snapshot = snapshot;
  reconcile(core, turn, node, { increase, sandboxIds: heartbeat.sandboxIds });
  return true;
}

/**
 * A runtime reports for the first time, and ends a ledger node for good. Uncertain ones had there the greatest age to be
 * told of; now the runtime tells, and their lease is as short as anybody's.
 */
function meetRuntime(core: Core, turn: Turn, node: Node): void {
  const wasLedger = node.ledger;
  turn.emit({ type: "node_runtime_seen", nodeId: node.nodeId });
  if (!wasLedger) return;
  for (const { terms, uncertain, leaseEndMs } of [...node.account.pending]) {
    const leaseMs = Math.min(leaseEndMs - turn.now.nowMs, core.config.uncertainTtlMs);
    if (uncertain) turn.emit({ type: "marked_uncertain", id: terms.id, leaseMs });
  }
}

/** The growth since the previous report of the epoch; null where this report is the baseline of a new one. */
function advanceEpoch(turn: Turn, node: Node, standing: ReportStanding, snapshot: SnapshotReport): Increase | null {
  const { epoch, nodeId } = node;
  const backwards = standing === "in_order" && epoch.number > 0 && ranBackwards(epoch, snapshot);
  if (standing === "in_order" && !backwards) return noteSnapshot(epoch, snapshot);
  openEpoch(epoch);
  epoch.createSeen = node.heraldedInstanceId !== null && node.heraldedInstanceId === node.runtime.serviceInstanceId;
  node.heraldedInstanceId = null;
  turn.notice({
    type: "epoch_opened",
    nodeId,
    why: backwards ? "counters" : epoch.number === 1 ? "first" : "instance",
  });
  countManagedAtBaseline(node);
  return noteSnapshot(epoch, snapshot);
}

interface Report {
  readonly increase: Increase | null;
  readonly sandboxIds: readonly string[] | null;
}

/** By identity first: what it settles is explained, and aggregates have the rest to go by. */
function reconcile(core: Core, turn: Turn, node: Node, { increase, sandboxIds }: Report): void {
  // Only aggregates ask for it, and most nodes have nothing for them to judge.
  const explained = node.account.inFlight.unmanagedPending > 0 ? managedUnsettled(node.account) : nothing();
  if (sandboxIds !== null) {
    const roster = noteRoster(node.epoch, { sandboxIds, position: turn.position, increase });
    turn.route({ type: "roster", nodeId: node.nodeId, sandboxIds: roster });
  }
  const settled =
    sandboxIds !== null
      ? judgeByRoster(core, turn, node)
      : accountingOf(node) === "sums"
        ? judgeBySums(turn, node)
        : [];
  for (const reservation of settled) if (!reservation.terms.managed) addCharge(explained, reservation);
  if (increase !== null) judgeByAggregates(turn, node, { increase, explained, withRoster: sandboxIds !== null });
}
