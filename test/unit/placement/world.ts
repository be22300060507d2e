/** A placement core with a clock to step, and short ways to say what tests say most. */
import { expect } from "vitest";
import {
  defaultPlacementConfig,
  type NodeResourceLimit,
  type PlacementConfig,
} from "../../../src/actors/placement/config.ts";
import type { PlacementEvent } from "../../../src/actors/placement/events.ts";
import type { Instant } from "../../../src/actors/placement/instant.ts";
import { violatedSums } from "../../../src/actors/placement/ledger/check-sums.ts";
import { createPlacement, type Placement } from "../../../src/actors/placement/state.ts";
import type { Notice, RouteChange, TurnOutcome } from "../../../src/actors/placement/turn.ts";
import type { Refusal } from "../../../src/messages/errors.ts";
import type { Heartbeat, NodeView, SandboxEventType, SnapshotReport } from "../../../src/messages/nodes.ts";
import type {
  PlacementAnswers,
  PlacementMessage,
  Reply,
  ReservationView,
  Schedule,
  ScheduleAnswer,
} from "../../../src/messages/placement.ts";
import { seededRandom } from "../../../src/ports/random.ts";

export const GIB = 2 ** 30;
export const CPU = 1000;

/** Wall time at the start of each world; the monotonic clock starts elsewhere, so that mixing them up shows. */
const WALL_START_MS = 1_700_000_000_000;
const MONOTONIC_START_MS = 5_000_000;

export function limits(set: Partial<NodeResourceLimit>): NodeResourceLimit {
  return { ...defaultPlacementConfig.nodeResourceLimit, ...set };
}

export function snapshot(set: Partial<SnapshotReport> = {}): SnapshotReport {
  return {
    status: "READY",
    allocatedCpuMillicores: 0,
    allocatedMemoryBytes: 0,
    cpuPercent: 0,
    cpuCapacityMillicores: 16 * CPU,
    memoryUsedBytes: 0,
    memoryCapacityBytes: 64 * GIB,
    sandboxCount: 0,
    sandboxStartingCount: 0,
    createSuccesses: 0,
    createFails: 0,
    reportedAtUnixMs: null,
    pausedSandboxCount: 0,
    pausedAllocatedCpuMillicores: 0,
    pausedAllocatedMemoryBytes: 0,
    disks: [],
    ...set,
  };
}

export interface ReportOptions {
  readonly instance?: string;
  readonly sandboxIds?: readonly string[] | null;
  readonly sequence?: number | null;
  readonly endpoint?: string | null;
}

export interface ResourceOptions extends ReportOptions {
  readonly cpuMillicores?: number;
  readonly memoryBytes?: number;
  readonly memory?: number | null;
  readonly cpu?: number | null;
  readonly resourceSequence?: number | null;
  readonly bootId?: string | null;
  readonly inventoryNone?: boolean;
}

export type ScheduleOptions = Partial<Omit<Schedule, "type">> & { readonly cpu?: number; readonly memoryGib?: number };

export class World {
  readonly config: PlacementConfig;
  placement: Placement;
  nowMs = MONOTONIC_START_MS;
  wallMs = WALL_START_MS;
  events: PlacementEvent[] = [];
  notices: Notice[] = [];
  routes: RouteChange[] = [];

  constructor(config: Partial<PlacementConfig> = {}) {
    this.config = { ...defaultPlacementConfig, ...config };
    this.placement = createPlacement(this.config, { random: seededRandom(7) }, this.now);
  }

  get now(): Instant {
    return { nowMs: this.nowMs, wallMs: this.wallMs };
  }

  /** Lets time pass, without a message. */
  pass(durationMs: number): void {
    this.nowMs += durationMs;
    this.wallMs += durationMs;
  }

  /** Sends a message, keeps what it caused, and checks the sums after it. */
  send<Message extends PlacementMessage>(message: Message): Reply<PlacementAnswers[Message["type"]]> {
    const outcome = this.placement.handle(message, this.now) as TurnOutcome<Reply<PlacementAnswers[Message["type"]]>>;
    this.events.push(...outcome.events);
    this.notices.push(...outcome.notices);
    this.routes.push(...outcome.routes);
    expect(violatedSums(this.placement.core.ledger)).toEqual([]);
    expect(outcome.notices.filter(({ type }) => type === "handler_failed")).toEqual([]);
    return outcome.reply;
  }

  ask<Message extends PlacementMessage>(message: Message): PlacementAnswers[Message["type"]] {
    const reply = this.send(message);
    if (!reply.ok) throw new Error(`${message.type} was refused: ${reply.refusal.message}`);
    return reply.answer;
  }

  refusal(message: PlacementMessage): Refusal {
    const reply = this.send(message);
    if (reply.ok) throw new Error(`${message.type} was not refused`);
    return reply.refusal;
  }

  /** A creation of 1 CPU and 1 GiB, managed, unless said otherwise. */
  request(options: ScheduleOptions = {}): Schedule {
    const { cpu, memoryGib, ...rest } = options;
    return {
      type: "schedule",
      hint: "new_cold_sandbox",
      cpuMillicores: (cpu ?? 1) * CPU,
      memoryBytes: (memoryGib ?? 1) * GIB,
      requestId: null,
      credential: "test",
      excludeNodeIds: [],
      managed: true,
      ...rest,
    };
  }

  schedule(options: ScheduleOptions = {}): ScheduleAnswer {
    return this.ask(this.request(options));
  }

  reserve(options: ScheduleOptions = {}): ReservationView {
    const { reservation } = this.schedule(options);
    if (reservation === null) throw new Error("nothing was reserved");
    return reservation;
  }

  /** Says the reasons of a refusal for lack of nodes. */
  reasons(options: ScheduleOptions = {}): unknown {
    const refusal = this.refusal(this.request(options));
    expect(refusal.code).toBe("no_nodes");
    return refusal.details.reasons;
  }

  hintless(): string {
    return this.schedule({ hint: "none" }).node.nodeId;
  }

  confirm(reservation: ReservationView, sandboxId: string, force = false): ReservationView {
    return this.ask({ type: "confirm", handle: reservation.token ?? reservation.id, sandboxId, force }).reservation;
  }

  confirmRefusal(reservation: ReservationView, sandboxId: string, force = false): Refusal {
    return this.refusal({ type: "confirm", handle: reservation.token ?? reservation.id, sandboxId, force });
  }

  cancel(reservation: ReservationView, reason: string | null = null): ReservationView {
    return this.ask({ type: "cancel", handle: reservation.token ?? reservation.id, reason }).reservation;
  }

  uncertain(reservation: ReservationView): ReservationView {
    return this.ask({ type: "uncertain", handle: reservation.token ?? reservation.id }).reservation;
  }

  renew(reservation: ReservationView): ReservationView {
    return this.ask({ type: "renew", handle: reservation.token ?? reservation.id }).reservation;
  }

  get(reservation: ReservationView): ReservationView {
    return this.ask({ type: "get_reservation", handle: reservation.id }).reservation;
  }

  state(reservation: ReservationView): string {
    return this.get(reservation).state;
  }

  heartbeat(nodeId: string, set: Partial<Heartbeat>): number {
    return this.ask(this.heartbeatOf(nodeId, set)).generation;
  }

  heartbeatOf(nodeId: string, set: Partial<Heartbeat>): Heartbeat {
    return {
      type: "heartbeat",
      nodeId,
      endpoint: `http://${nodeId}:8080`,
      clusterId: null,
      version: null,
      serviceInstanceId: "run-1",
      sequence: null,
      snapshot: null,
      sandboxIds: null,
      resource: null,
      resourceSequence: null,
      bootId: null,
      inventoryNone: false,
      ...set,
    };
  }

  /** The runtime part; with a roster where `sandboxIds` is given. */
  report(nodeId: string, set: Partial<SnapshotReport> = {}, options: ReportOptions = {}): number {
    return this.heartbeat(nodeId, {
      snapshot: snapshot(set),
      sandboxIds: options.sandboxIds ?? null,
      serviceInstanceId: options.instance ?? "run-1",
      sequence: options.sequence ?? null,
      ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
    });
  }

  /** The daemon part. */
  resource(nodeId: string, options: ResourceOptions = {}): number {
    return this.heartbeat(nodeId, {
      serviceInstanceId: options.instance ?? "daemon-1",
      sequence: options.sequence ?? null,
      resourceSequence: options.resourceSequence ?? null,
      bootId: options.bootId ?? null,
      inventoryNone: options.inventoryNone ?? false,
      ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
      resource: {
        cpuCapacityMillicores: options.cpuMillicores ?? 16 * CPU,
        memoryCapacityBytes: options.memoryBytes ?? 64 * GIB,
        utilization: { cpu: options.cpu ?? null, memory: options.memory ?? null, pid: null, fd: null, disk: null },
      },
    });
  }

  event(
    nodeId: string,
    eventType: SandboxEventType,
    sandboxId: string,
    shape: { cpu?: number; memoryGib?: number } = {},
  ): void {
    this.ask({
      type: "sandbox_events",
      nodeId,
      serviceInstanceId: "run-1",
      events: [
        {
          sandboxId,
          eventType,
          requestedCpuMillicores: (shape.cpu ?? 1) * CPU,
          requestedMemoryBytes: (shape.memoryGib ?? 1) * GIB,
        },
      ],
    });
  }

  tick(): void {
    this.ask({ type: "tick" });
  }

  node(nodeId: string): NodeView {
    return this.ask({ type: "get_node", nodeId }).node;
  }

  inFlight(nodeId: string): NodeView["inFlight"] {
    return this.node(nodeId).inFlight;
  }

  /** A new process over the same log, after a while in which none ran. */
  restart(downMs = 0): World {
    const next = new World(this.config);
    next.nowMs = 100;
    next.wallMs = this.wallMs + downMs;
    next.placement = createPlacement(this.config, { random: seededRandom(8) }, next.now);
    next.placement.replay(structuredClone(this.events), next.now);
    next.events = [...this.events];
    return next;
  }
}
