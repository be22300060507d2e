/**
 * Traffic for which placement.md promises that no node is ever promised more than it has: every sandbox was placed by the
 * scheduler and is of known size, a create is done or given up within its lease, and who has a token uses it. What the
 * specification excludes ("What remains …") is not played: direct creates, forks, creates of unknown size.
 *
 * Nodes and network are as bad as ever: reports are lost, late and overtaken, events get lost, nodes restart, sandboxes
 * end within one heartbeat, are paused and resumed.
 */
import fc from "fast-check";
import type { PlacementConfig } from "../../../src/actors/placement/config.ts";
import type { PlacementEvent } from "../../../src/actors/placement/events.ts";
import { createPlacement, type Placement } from "../../../src/actors/placement/state.ts";
import type { Heartbeat, NodeView, SandboxEvents } from "../../../src/messages/nodes.ts";
import type { PlacementAnswers, PlacementMessage, Reply } from "../../../src/messages/placement.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import type { Amounts } from "./model/facts.ts";
import { type NodeTraits, SimulatedNode } from "./simulated-node.ts";
import { pick } from "./walk.ts";

export interface Fleet {
  readonly name: string;
  readonly config: PlacementConfig;
  readonly nodes: readonly NodeTraits[];
  readonly shapes: readonly Amounts[];
  /** Of ten callers, how many close their reservation by its token. */
  readonly managedOfTen: number;
  /** Whether nodes send events at all; without them only aggregates tell of unmanaged creates. */
  readonly sendsEvents: boolean;
}

export interface Placed {
  readonly id: string;
  readonly handle: string;
  readonly nodeId: string;
  readonly managed: boolean;
  readonly size: Amounts;
  readonly sandboxId: string;
  leaseEndMs: number;
  stage: "to come" | "starting" | "there" | "closed" | "given up";
}

const WEIGHTS = {
  schedule: 10,
  progress: 16,
  fail: 2,
  giveUp: 1,
  uncertain: 1,
  renew: 1,
  report: 10,
  readSums: 3,
  lose: 1,
  send: 2,
  deliver: 3,
  delete: 5,
  pause: 2,
  restart: 1,
  pass: 8,
} as const;

export type OrderlyKind = keyof typeof WEIGHTS;

export interface OrderlyStep {
  readonly kind: OrderlyKind;
  readonly which: number;
  readonly how: number;
}

const number = fc.nat(999);

const step: fc.Arbitrary<OrderlyStep> = fc.oneof(
  ...(Object.entries(WEIGHTS) as [OrderlyKind, number][]).map(([kind, weight]) => ({
    weight,
    arbitrary: fc.record({ kind: fc.constant(kind), which: number, how: number }),
  })),
);

export function orderlySteps(most: number): fc.Arbitrary<OrderlyStep[]> {
  return fc.array(step, { minLength: 1, maxLength: most, size: "max" });
}

/** Short against a lease, so that one step never outlives what it interrupts. */
const PAUSES_MS = [10, 300, 900, 1_000, 1_500, 4_000];

const START_MS = 5_000_000;
const WALL_AHEAD_MS = 1_700_000_000_000;

export class OrderlyTraffic {
  readonly fleet: Fleet;
  readonly placement: Placement;
  readonly nodes: readonly SimulatedNode[];
  readonly placed: Placed[] = [];
  /** What was done, in words, for a failure. */
  readonly log: string[] = [];
  /** Ids in the sums of the newest report that each node's scheduler side took in. */
  readonly reported = new Map<string, ReadonlySet<string>>();
  nowMs = START_MS;
  readonly #sumsOf = new Map<Heartbeat, ReadonlySet<string>>();
  readonly #read = new Map<string, ReadonlySet<string>>();
  readonly #generations = new Map<string, number>();
  readonly #network: Heartbeat[] = [];
  readonly #watch: (message: PlacementMessage, events: readonly PlacementEvent[]) => void;

  constructor(fleet: Fleet, watch: (message: PlacementMessage, events: readonly PlacementEvent[]) => void = () => {}) {
    this.fleet = fleet;
    this.#watch = watch;
    this.placement = createPlacement(fleet.config, { random: seededRandom(3) }, this.#now);
    this.nodes = fleet.nodes.map((traits) => new SimulatedNode(traits));
    for (const node of this.nodes) this.#arrive(this.#report(node));
  }

  take({ kind, which, how }: OrderlyStep): void {
    const node = pick(this.nodes, which);
    const attempt = pick(
      this.placed.filter(({ stage }) => stage !== "closed" && stage !== "given up").slice(-8),
      which,
    );
    if (kind === "schedule") return this.#schedule(which, how);
    if (kind === "pass") return this.#pass(pick(PAUSES_MS, which) ?? 1);
    if (node !== undefined) this.#liveOn(node, kind, which, how);
    if (attempt === undefined) return;
    if (kind === "progress") this.#progress(attempt, how);
    if (kind === "fail" && attempt.stage === "starting") this.#fail(attempt);
    if (kind === "giveUp" && attempt.stage === "to come") this.#giveUp(attempt);
    if (kind === "renew" && attempt.managed && attempt.stage !== "there") this.#extend(attempt);
    if (kind === "uncertain" && attempt.managed && attempt.stage === "starting") {
      const reply = this.send({ type: "uncertain", handle: attempt.handle });
      if (reply.ok) attempt.leaseEndMs = this.#leaseEnd(reply.answer.reservation.expiresAtUnixMs);
    }
  }

  view(nodeId: string): NodeView | undefined {
    const reply = this.send({ type: "get_node", nodeId });
    return reply.ok ? reply.answer.node : undefined;
  }

  send<Message extends PlacementMessage>(message: Message): Reply<PlacementAnswers[Message["type"]]> {
    const { reply, events, notices } = this.placement.handle(message, this.#now);
    this.#watch(message, events);
    const failure = notices.find(({ type }) => type === "handler_failed");
    if (failure !== undefined) throw new Error(JSON.stringify(failure));
    if (message.type !== "get_node") {
      const changes = events.map(({ change }) => JSON.stringify(change)).join(" ");
      this.log.push(`${this.nowMs - START_MS} ms ${JSON.stringify(message)} ⇒ ${changes}`);
    }
    return reply as Reply<PlacementAnswers[Message["type"]]>;
  }

  get #now(): { nowMs: number; wallMs: number } {
    return { nowMs: this.nowMs, wallMs: this.nowMs + WALL_AHEAD_MS };
  }

  #leaseEnd(expiresAtUnixMs: number | null): number {
    return expiresAtUnixMs === null ? Number.POSITIVE_INFINITY : expiresAtUnixMs - WALL_AHEAD_MS;
  }

  /** Nobody lets a lease run out under a create: whoever has a token renews or closes, a gateway gives up before. */
  #pass(durationMs: number): void {
    this.nowMs += durationMs;
    for (const attempt of this.placed) {
      if (attempt.leaseEndMs - this.nowMs > 5_000) continue;
      if (attempt.stage === "to come") this.#giveUp(attempt);
      if (attempt.stage === "starting") this.#fail(attempt);
      if (attempt.stage === "there" && attempt.managed) this.#progress(attempt, 0);
    }
  }

  #schedule(which: number, how: number): void {
    const size = pick(this.fleet.shapes, which);
    if (size === undefined) return;
    const managed = how % 10 < this.fleet.managedOfTen;
    const reply = this.send({
      type: "schedule",
      hint: "new_cold_sandbox",
      cpuMillicores: size.cpu,
      memoryBytes: size.memory,
      requestId: null,
      credential: "gateway",
      excludeNodeIds: [],
      managed,
    });
    if (!reply.ok || reply.answer.reservation === null) return;
    const { id, token, nodeId, expiresAtUnixMs } = reply.answer.reservation;
    const sandboxId = `sandbox-${this.placed.length}`;
    const leaseEndMs = this.#leaseEnd(expiresAtUnixMs);
    this.placed.push({ id, handle: token ?? id, nodeId, managed, size, sandboxId, leaseEndMs, stage: "to come" });
  }

  #nodeOf(attempt: Placed): SimulatedNode | undefined {
    return this.nodes.find(({ traits }) => traits.nodeId === attempt.nodeId);
  }

  #progress(attempt: Placed, how: number): void {
    const node = this.#nodeOf(attempt);
    if (attempt.stage === "to come") {
      node?.start(attempt.sandboxId, attempt.size);
      attempt.stage = "starting";
    } else if (attempt.stage === "starting") {
      this.#post(node?.finish(attempt.sandboxId) ?? null, how);
      attempt.stage = attempt.managed ? "there" : "closed";
      if (!attempt.managed) this.log.push(`${attempt.sandboxId} is there`);
    } else {
      this.send({ type: "confirm", handle: attempt.handle, sandboxId: attempt.sandboxId, force: false });
      attempt.stage = "closed";
    }
  }

  #fail(attempt: Placed): void {
    this.#nodeOf(attempt)?.fail(attempt.sandboxId);
    attempt.stage = "given up";
    if (attempt.managed) this.send({ type: "cancel", handle: attempt.handle, reason: null });
  }

  #giveUp(attempt: Placed): void {
    attempt.stage = "given up";
    if (attempt.managed) this.send({ type: "cancel", handle: attempt.handle, reason: "client_gone" });
  }

  #extend(attempt: Placed): void {
    const reply = this.send({ type: "renew", handle: attempt.handle });
    if (reply.ok) attempt.leaseEndMs = this.#leaseEnd(reply.answer.reservation.expiresAtUnixMs);
  }

  #liveOn(node: SimulatedNode, kind: OrderlyKind, which: number, how: number): void {
    // Only what is done can be ended or paused: what is starting belongs to its caller.
    const done = [...node.sandboxes.values()].filter(({ state }) => state !== "starting");
    const sandboxId = pick(done, how)?.sandboxId;
    if (kind === "report") this.#arrive(this.#report(node));
    if (kind === "lose") this.#report(node);
    if (kind === "send") this.#network.push(this.#report(node));
    if (kind === "deliver") {
      const [letter] = this.#network.splice(which % Math.max(1, this.#network.length), 1);
      if (letter !== undefined) this.#arrive(letter);
    }
    if (kind === "readSums") this.#readSums(node);
    if (kind === "restart" && how % 3 === 0) this.#restart(node, how % 2 === 0);
    if (sandboxId === undefined) return;
    if (kind === "delete") {
      this.log.push(`${sandboxId} ends`);
      this.#post(node.remove(sandboxId), how);
    }
    if (kind === "pause") this.#post(node.pauseOrResume(sandboxId), how);
  }

  #restart(node: SimulatedNode, keepsSandboxes: boolean): void {
    this.log.push(`${node.traits.nodeId} restarts, ${keepsSandboxes ? "with" : "without"} its sandboxes`);
    for (const attempt of this.placed) {
      if (attempt.nodeId === node.traits.nodeId && attempt.stage === "starting") this.#fail(attempt);
    }
    node.restart(keepsSandboxes);
    this.#read.delete(node.traits.nodeId);
  }

  #readSums(node: SimulatedNode): void {
    node.readSums(this.nowMs + WALL_AHEAD_MS);
    this.#read.set(node.traits.nodeId, new Set(node.sandboxes.keys()));
  }

  #report(node: SimulatedNode): Heartbeat {
    if (!this.#read.has(node.traits.nodeId)) this.#readSums(node);
    const report = node.report(this.nowMs + WALL_AHEAD_MS);
    this.#sumsOf.set(report, this.#read.get(node.traits.nodeId) ?? new Set());
    this.#read.delete(node.traits.nodeId);
    return report;
  }

  #arrive(report: Heartbeat): void {
    const reply = this.send(report);
    const generation = reply.ok ? reply.answer.generation : 0;
    if (generation <= (this.#generations.get(report.nodeId) ?? 0)) return;
    this.#generations.set(report.nodeId, generation);
    this.reported.set(report.nodeId, this.#sumsOf.get(report) ?? new Set());
  }

  #post(message: SandboxEvents | null, how: number): void {
    if (message !== null && this.fleet.sendsEvents && how % 4 !== 0) this.send(message);
  }
}
