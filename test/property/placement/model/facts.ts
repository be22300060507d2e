/**
 * What the model knows: plain records, plain arrays, one place for each fact. It is slow and literal on purpose; it is
 * written from the specification alone, so that a disagreement with the core means that one of the two misread it.
 */
import type { PlacementConfig } from "../../../../src/actors/placement/config.ts";
import type { Condition, ResourceReport, SnapshotReport } from "../../../../src/messages/nodes.ts";
import type { HintKind, ReservationState } from "../../../../src/messages/placement.ts";

/** Millicores and bytes. */
export interface Amounts {
  readonly cpu: number;
  readonly memory: number;
}

/** Millicores and bytes; null: unknown. */
export interface Demand {
  readonly cpu: number | null;
  readonly memory: number | null;
}

export const DIMENSIONS = ["cpu", "memory"] as const;

export interface ModelReservation {
  readonly id: string;
  readonly token: string | null;
  readonly nodeId: string;
  readonly managed: boolean;
  readonly hint: HintKind;
  readonly requestKey: string | null;
  /** As asked for, to tell a repeat from another demand. */
  readonly asked: Demand;
  /** Position in the mailbox of the message that made it. */
  readonly madeAt: number;
  readonly createdMs: number;
  /** What is known of its size; a CREATE event fills in what was not. */
  size: Demand;
  charge: Amounts;
  /** What it was charged when it was made, before any inference filled it in. */
  readonly firstCharge: Amounts;
  state: ReservationState;
  reason: string | null;
  leaseEndMs: number;
  uncertain: boolean;
  late: boolean;
  sandboxId: string | null;
  /** Bound by inference only. */
  provisional: boolean;
  confirmedMs: number;
  /** How many runtime instances the node had shown when it was confirmed. */
  instancesAtConfirm: number;
  /** The roster by which it settled; null: none did. */
  provenBy: readonly string[] | null;
  /** Whether a roster since the confirm lacked it. */
  lacked: boolean;
  /** Arrival of the first snapshot since the confirm. */
  firstSnapshotMs: number | null;
}

/** What one part of a node last said of itself. */
export interface ModelPart {
  instance: string;
  heardMs: number;
  /** End of the newest stall that began while it spoke. */
  stallEndMs: number;
  sequence: number | null;
  reportedAtUnixMs: number | null;
}

export interface ModelNode {
  readonly nodeId: string;
  readonly configured: boolean;
  endpoint: string | null;
  runtime: ModelPart | null;
  daemon: ModelPart | null;
  readonly supersededRuntimes: Set<string>;
  readonly supersededDaemons: Set<string>;
  /** Number of runtime instances shown so far. */
  instances: number;
  snapshot: SnapshotReport | null;
  /** Rosters of the present instance, oldest first. */
  rosters: (readonly string[])[];
  newestRoster: readonly string[];
  /** Increase of allocated + paused that came with the newest roster; null without a baseline. */
  rosterIncrease: Amounts | null;
  rosterInEpoch: boolean;
  /** Position of the first report that listed an id. */
  readonly firstListed: Map<string, number>;
  snapshotCapacity: Demand;
  resourceCapacity: Demand;
  ledger: boolean;
  runtimeSeen: boolean;
  bootId: string | null;
  /** Position of the newest report of the present boot. */
  bootReportedAt: number;
  unregistered: { readonly instance: string; readonly atMs: number } | null;
  cordoned: boolean;
  readonly conditions: Set<Condition>;
  readonly highSamples: Map<Condition, number>;
  readonly lowSamples: Map<Condition, number>;
  resourceSequence: number | null;
  /** Arrival of the newest sample. */
  sampledMs: number;
  /** As the newest daemon report has it. */
  utilization: ResourceReport["utilization"] | null;
  /** Number of the choice that last fell on it; 0 for never. */
  chosenAt: number;
  failuresMs: number[];
  demotedUntilMs: number;
}

export interface ModelState {
  readonly config: PlacementConfig;
  readonly startMs: number;
  readonly nodes: Map<string, ModelNode>;
  readonly reservations: ModelReservation[];
  /** Ids that a DELETE or a FORK named. */
  readonly deleted: Set<string>;
  readonly forked: Set<string>;
  /** Ids that an inference bound once, also when the binding was taken back. */
  readonly inferred: Set<string>;
  readonly reported: Set<string>;
  choices: number;
  /** Positions count the messages handled. */
  position: number;
  /** Arrival of the last message, once ticks have begun. */
  lastTurnMs: number | null;
}

export function newNode(nodeId: string, configured: boolean, endpoint: string | null): ModelNode {
  return {
    nodeId,
    configured,
    endpoint,
    runtime: null,
    daemon: null,
    supersededRuntimes: new Set(),
    supersededDaemons: new Set(),
    instances: 0,
    snapshot: null,
    rosters: [],
    newestRoster: [],
    rosterIncrease: null,
    rosterInEpoch: false,
    firstListed: new Map(),
    snapshotCapacity: { cpu: null, memory: null },
    resourceCapacity: { cpu: null, memory: null },
    ledger: false,
    runtimeSeen: false,
    bootId: null,
    bootReportedAt: 0,
    unregistered: null,
    cordoned: false,
    conditions: new Set(),
    highSamples: new Map(),
    lowSamples: new Map(),
    resourceSequence: null,
    sampledMs: Number.POSITIVE_INFINITY,
    utilization: null,
    chosenAt: 0,
    failuresMs: [],
    demotedUntilMs: Number.NEGATIVE_INFINITY,
  };
}

/** "pending and confirmed are charged; the others are not." */
export function isLive(reservation: ModelReservation): boolean {
  return reservation.state === "pending" || reservation.state === "confirmed";
}

export function liveOf(state: ModelState, node: ModelNode): ModelReservation[] {
  return state.reservations.filter((reservation) => reservation.nodeId === node.nodeId && isLive(reservation));
}

export function countOf(state: ModelState, node: ModelNode, which: "pending" | "confirmed"): number {
  return liveOf(state, node).filter((reservation) => reservation.state === which).length;
}

/** "In-flight load is always added on top of the newest report until settled." */
export function inFlightOf(state: ModelState, node: ModelNode): Amounts {
  const live = liveOf(state, node);
  return {
    cpu: live.reduce((sum, { charge }) => sum + charge.cpu, 0),
    memory: live.reduce((sum, { charge }) => sum + charge.memory, 0),
  };
}

export function allocatedOf(node: ModelNode): Amounts {
  return { cpu: node.snapshot?.allocatedCpuMillicores ?? 0, memory: node.snapshot?.allocatedMemoryBytes ?? 0 };
}

export function pausedOf(node: ModelNode): Amounts {
  return {
    cpu: node.snapshot?.pausedAllocatedCpuMillicores ?? 0,
    memory: node.snapshot?.pausedAllocatedMemoryBytes ?? 0,
  };
}

/** "Capacity is the snapshot's where it has ever given one, else the resource part's." (http-api.md) */
export function capacityOf(node: ModelNode): Demand {
  return {
    cpu: node.snapshotCapacity.cpu ?? node.resourceCapacity.cpu,
    memory: node.snapshotCapacity.memory ?? node.resourceCapacity.memory,
  };
}

/** allocated + paused × weight + in flight (http-api.md, `projected`). */
export function projectedOf(state: ModelState, node: ModelNode): Amounts {
  const { pausedWeight } = state.config;
  const [allocated, paused, inFlight] = [allocatedOf(node), pausedOf(node), inFlightOf(state, node)];
  return {
    cpu: allocated.cpu + paused.cpu * pausedWeight.cpu + inFlight.cpu,
    memory: allocated.memory + paused.memory * pausedWeight.memory + inFlight.memory,
  };
}

/** "silent longer than `report_ttl`" (scheduler-v1.md); "silence counts from the stall's end". */
export function isFresh(state: ModelState, part: ModelPart | null, nowMs: number): boolean {
  return part !== null && nowMs - Math.max(part.heardMs, part.stallEndMs) <= state.config.reportTtlMs;
}

/** "on a ledger node the daemon part counts as the runtime part." */
export function keepsHealthy(node: ModelNode): ModelPart | null {
  return node.ledger ? node.daemon : node.runtime;
}

/** An unregistered node is still there for as long as something is charged to it. */
export function isShown(state: ModelState, node: ModelNode): boolean {
  return node.unregistered === null || liveOf(state, node).length > 0;
}
