/**
 * Replays a stream of requests against the placement core in virtual time. The core is the scheduler's own; only the
 * clock, chance and the nodes are played. What is measured is what really is on the nodes, not what the core believes.
 */

import { type Amounts, PlayedNode } from "../actors/load/played-node.ts";
import { defaultPlacementConfig, type PlacementConfig } from "../actors/placement/config.ts";
import type { Instant } from "../actors/placement/instant.ts";
import { createPlacement, type Placement } from "../actors/placement/state.ts";
import type { PlacementMessage, Reply } from "../messages/placement.ts";
import { seededRandom } from "../ports/random.ts";
import { higherPeak, type Imbalance, imbalanceOf, type Peak } from "./balance.ts";
import { creationOf } from "./creation.ts";
import { EventQueue } from "./event-queue.ts";
import type { FleetNode } from "./fleet-file.ts";
import { type Arrival, arrivalsOf, type WorkloadTerms } from "./workload.ts";

export const ADMISSIONS = ["capacity", "none"] as const;
export type Admission = (typeof ADMISSIONS)[number];

export interface SimulationTerms {
  readonly fleet: readonly FleetNode[];
  readonly workload: WorkloadTerms;
  readonly request: Amounts;
  /** `none`: capacity excludes no node, and only ranking decides. */
  readonly admission: Admission;
  /** Null: nodes report once, at the start, and never again. */
  readonly heartbeatIntervalMs: number | null;
  readonly seed: number;
}

export interface SimulationResult {
  readonly strategy: string;
  readonly placed: number;
  readonly rejected: number;
  /** Nodes dropped, by reason, summed over the rejected requests; most frequent first. */
  readonly reasons: Readonly<Record<string, number>>;
  /** Highest at any time; null when nothing was placed. */
  readonly peak: Peak | null;
  /** When the last request has been answered. */
  readonly imbalance: Imbalance;
}

/**
 * A power of two: pressures are divided by it exactly, so that the ranking, ties included, is the one of true capacity,
 * while nothing that fits into memory here fills a node a million times.
 */
const UNBOUNDED_OVERCOMMIT = 2 ** 20;
/** Half of what turns a gap into a stall, and as often as the scheduler itself ticks. */
const TICK_MS = 1_000;
/** An arbitrary wall time to start from: the views need one, no decision does. */
const EPOCH_WALL_MS = Date.UTC(2026, 0, 1);

type Happening =
  | { readonly type: "arrival"; readonly arrival: Arrival; readonly number: number }
  | { readonly type: "end"; readonly node: PlayedNode; readonly sandboxId: string }
  | { readonly type: "heartbeat"; readonly node: PlayedNode }
  | { readonly type: "tick" };

/** Runs one strategy from the first request until the last has been answered. Same terms, same result. */
export function simulate(strategy: string, terms: SimulationTerms): SimulationResult {
  return new Simulation(strategy, terms).run();
}

class Simulation {
  readonly #strategy: string;
  readonly #terms: SimulationTerms;
  readonly #placement: Placement;
  readonly #nodes: ReadonlyMap<string, PlayedNode>;
  readonly #queue = new EventQueue<Happening>();
  readonly #reasons = new Map<string, number>();
  #now = instant(0);
  #placed = 0;
  #rejected = 0;
  #peak: Peak | null = null;

  constructor(strategy: string, terms: SimulationTerms) {
    this.#strategy = strategy;
    this.#terms = terms;
    // Chance of its own, so that every strategy meets the same stream however much of it it uses.
    this.#placement = createPlacement(configFor(strategy, terms), { random: seededRandom(terms.seed + 1) }, this.#now);
    this.#nodes = new Map(terms.fleet.map((node) => [node.nodeId, playedNode(node)]));
  }

  run(): SimulationResult {
    for (const node of this.#nodes.values()) this.#send(node.heartbeat());
    const random = seededRandom(this.#terms.seed);
    const arrivals = arrivalsOf(this.#terms.workload, random);
    this.#startReporting();
    let number = 0;
    // One arrival ahead is enough, and keeps the queue as small as what is alive.
    const nextArrival = (): void => {
      const { value: arrival } = arrivals.next();
      if (arrival) this.#queue.push(arrival.atMs, { type: "arrival", arrival, number });
      number += 1;
    };
    nextArrival();
    let left = this.#terms.workload.requests;
    while (left > 0) {
      const next = this.#queue.pop();
      if (next === undefined) break;
      this.#now = instant(next.atMs);
      this.#happen(next.event);
      if (next.event.type !== "arrival") continue;
      left -= 1;
      nextArrival();
    }
    return this.#result();
  }

  #happen(event: Happening): void {
    switch (event.type) {
      case "arrival":
        return this.#onArrival(event.arrival, event.number);
      case "end":
        return this.#onEnd(event.node, event.sandboxId);
      case "heartbeat":
        this.#send(event.node.heartbeat());
        return this.#queue.push(this.#now.nowMs + (this.#terms.heartbeatIntervalMs ?? 0), event);
      case "tick":
        this.#send({ type: "tick" });
        return this.#queue.push(this.#now.nowMs + TICK_MS, event);
      default:
        event satisfies never;
    }
  }

  /** Nodes take turns over the interval, as they do where each was started on its own. */
  #startReporting(): void {
    const { heartbeatIntervalMs } = this.#terms;
    if (heartbeatIntervalMs === null) return;
    this.#queue.push(TICK_MS, { type: "tick" });
    let position = 0;
    for (const node of this.#nodes.values()) {
      position += 1;
      this.#queue.push((heartbeatIntervalMs * position) / this.#nodes.size, { type: "heartbeat", node });
    }
  }

  #onArrival({ lifetimeMs }: Arrival, number: number): void {
    const { reply } = this.#placement.handle(creationOf(this.#terms.request), this.#now);
    if (!reply.ok) return this.#reject(reply.refusal.details.reasons);
    const { node: address, reservation } = reply.answer;
    const node = this.#nodes.get(address.nodeId);
    if (node === undefined || reservation === null) throw new Error(`a creation was sent to ${address.nodeId}`);
    const sandboxId = `sandbox-${number + 1}`;
    node.create(sandboxId, this.#terms.request);
    this.#placed += 1;
    this.#peak = higherPeak(this.#peak, node);
    this.#send({ type: "confirm", handle: reservation.token ?? reservation.id, sandboxId, force: false });
    if (lifetimeMs !== null) this.#queue.push(this.#now.nowMs + lifetimeMs, { type: "end", node, sandboxId });
  }

  /** A node that reports says itself that a sandbox ended; of one that does not, its caller does. */
  #onEnd(node: PlayedNode, sandboxId: string): void {
    const amounts = node.delete(sandboxId);
    if (amounts === null) return;
    if (this.#terms.heartbeatIntervalMs === null) return this.#send({ type: "release_sandbox", sandboxId });
    const { nodeId, serviceInstanceId } = node.terms;
    const requested = {
      requestedCpuMillicores: amounts.cpuMillicores,
      requestedMemoryBytes: amounts.memoryBytes,
    };
    const events = [{ sandboxId, eventType: "DELETE", ...requested } as const];
    this.#send({ type: "sandbox_events", nodeId, serviceInstanceId, events });
  }

  #reject(reasons: unknown): void {
    this.#rejected += 1;
    for (const [reason, count] of Object.entries((reasons ?? {}) as Record<string, number>)) {
      this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + count);
    }
  }

  /** None of these may be refused: a refusal would be a fault of the driver or of the core. */
  #send(message: PlacementMessage): void {
    const reply: Reply<unknown> = this.#placement.handle(message, this.#now).reply;
    if (!reply.ok) throw new Error(`${message.type} was refused: ${reply.refusal.message}`);
  }

  #result(): SimulationResult {
    const reasons = [...this.#reasons].sort(([left, many], [right, more]) => more - many || (left < right ? -1 : 1));
    return {
      strategy: this.#strategy,
      placed: this.#placed,
      rejected: this.#rejected,
      reasons: Object.fromEntries(reasons),
      peak: this.#peak,
      imbalance: imbalanceOf([...this.#nodes.values()]),
    };
  }
}

function configFor(strategy: string, terms: SimulationTerms): PlacementConfig {
  const { admission, heartbeatIntervalMs, workload } = terms;
  const base = defaultPlacementConfig;
  const overcommit = admission === "none" ? UNBOUNDED_OVERCOMMIT : 1;
  return {
    ...base,
    strategy,
    overcommit: { cpu: overcommit, memory: overcommit },
    // Without heartbeats the one report of the start holds for good; with rare ones a node may miss two.
    reportTtlMs:
      heartbeatIntervalMs === null ? Number.MAX_SAFE_INTEGER : Math.max(base.reportTtlMs, 3 * heartbeatIntervalMs),
    // Bounded by the number of requests instead: this bound protects a scheduler, and would show up as rejections.
    livePerNodeMax: Math.max(base.livePerNodeMax, workload.requests),
  };
}

function playedNode({ nodeId, capacity }: FleetNode): PlayedNode {
  return new PlayedNode({ nodeId, endpoint: `${nodeId}:1`, serviceInstanceId: `${nodeId}-1`, capacity });
}

function instant(nowMs: number): Instant {
  return { nowMs, wallMs: EPOCH_WALL_MS + nowMs };
}
