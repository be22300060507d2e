/** The model as a whole: one message in, and what must be answered. */
import type { PlacementConfig } from "../../../../src/actors/placement/config.ts";
import type { ErrorCode } from "../../../../src/messages/errors.ts";
import type { Heartbeat } from "../../../../src/messages/nodes.ts";
import type { PlacementMessage, Schedule } from "../../../../src/messages/placement.ts";
import { whyOut, wishOf } from "./candidates.ts";
import {
  type Amounts,
  DIMENSIONS,
  isFresh,
  isShown,
  type ModelNode,
  type ModelReservation,
  type ModelState,
  newNode,
} from "./facts.ts";
import { takeEvents } from "./inference.ts";
import * as lifecycle from "./lifecycle.ts";
import { choose } from "./ranking.ts";
import { takeHeartbeat } from "./reports.ts";

/** What the model expects of an answer; what it leaves out it does not know. */
export interface Expectation {
  /** Null: answered, not refused. */
  readonly refusal: ErrorCode | null;
  readonly reasons?: Readonly<Record<string, number>>;
  readonly nodeId?: string;
  /** Null: nothing is reserved. */
  readonly reservation?: ModelReservation | null;
  readonly repeated?: boolean;
  /** Whether a heartbeat was taken in, and so has a new generation. */
  readonly accepted?: boolean;
}

/** Names that only the core can give: chance is its own. */
export interface Names {
  readonly id: string;
  readonly token: string | null;
}

const OK: Expectation = { refusal: null };

export class PlacementModel {
  readonly state: ModelState;

  constructor(config: PlacementConfig, startMs: number) {
    const nodes = new Map<string, ModelNode>();
    for (const { nodeId, endpoint, ledger } of config.nodes ?? []) {
      nodes.set(nodeId, { ...newNode(nodeId, true, endpoint), ledger });
    }
    this.state = {
      config,
      startMs,
      nodes,
      reservations: [],
      deleted: new Set(),
      forked: new Set(),
      inferred: new Set(),
      reported: new Set(),
      choices: 0,
      position: 0,
      lastTurnMs: null,
    };
  }

  /** `names` are those of the reservation that the core made for this message, where it made one. */
  handle(message: PlacementMessage, nowMs: number, names: Names | null): Expectation {
    this.state.position += 1;
    this.#noticeStall(message, nowMs);
    lifecycle.endLeases(this.state, nowMs);
    switch (message.type) {
      case "schedule":
        return this.#schedule(message, nowMs, names);
      case "heartbeat":
        return this.#heartbeat(message, nowMs);
      case "confirm":
        return this.#close(message.handle, (one) => lifecycle.confirm(this.state, one, message, nowMs));
      case "cancel":
        return this.#close(message.handle, (one) => lifecycle.cancel(this.state, one, message, nowMs));
      case "renew":
        return this.#close(message.handle, (one) => lifecycle.renew(this.state, one, nowMs));
      case "uncertain":
        return this.#close(message.handle, (one) => lifecycle.markUncertain(this.state, one, nowMs));
      case "get_reservation":
        return this.#close(message.handle, () => "repeated");
      case "delivery_failed":
        return this.#undelivered(message.reservationId, nowMs);
      case "sandbox_events":
        takeEvents(this.state, message, nowMs);
        return OK;
      case "release_sandbox":
        lifecycle.sandboxDeleted(this.state, message.sandboxId);
        return OK;
      case "unregister":
        return this.#unregister(message.nodeId, message.serviceInstanceId, nowMs);
      case "cordon":
        return this.#operate(message.nodeId, (node) => {
          node.cordoned = true;
        });
      case "uncordon":
        return this.#operate(message.nodeId, (node) => {
          node.cordoned = false;
        });
      case "clear_condition":
        return this.#operate(message.nodeId, (node) => {
          if (!node.conditions.delete(message.condition)) return;
          // "it may come back after as many samples as the first time" (messages/nodes.ts).
          node.highSamples.delete(message.condition);
        });
      case "get_node":
        return this.#operate(message.nodeId, () => {});
      case "record_assignment":
      case "list_reservations":
      case "list_nodes":
      case "count_nodes":
      case "tick":
        return OK;
      default:
        return message satisfies never;
    }
  }

  /** "After a stall of the process longer than half of `report_ttl`, silence counts from the stall's end." */
  #noticeStall(message: PlacementMessage, nowMs: number): void {
    const { state } = this;
    if (state.lastTurnMs !== null) {
      if (nowMs - state.lastTurnMs > state.config.reportTtlMs / 2) this.#excuseSilence(state.lastTurnMs, nowMs);
      state.lastTurnMs = nowMs;
    }
    if (message.type === "tick") state.lastTurnMs = nowMs;
  }

  /** A node that is out when the stall begins has no silence to be excused. */
  #excuseSilence(beginMs: number, endMs: number): void {
    for (const node of this.state.nodes.values()) {
      for (const part of [node.runtime, node.daemon]) {
        if (part !== null && isFresh(this.state, part, beginMs)) part.stallEndMs = endMs;
      }
    }
  }

  #schedule(message: Schedule, nowMs: number, names: Names | null): Expectation {
    const { state } = this;
    const wish = wishOf(message);
    const requestKey =
      wish.creates && message.requestId !== null ? JSON.stringify([message.credential, message.requestId]) : null;
    const earlier = state.reservations.find((one) => requestKey !== null && one.requestKey === requestKey);
    if (earlier !== undefined) {
      const same =
        earlier.hint === message.hint &&
        earlier.managed === message.managed &&
        DIMENSIONS.every((dimension) => earlier.asked[dimension] === wish.demand[dimension]);
      if (!same) return { refusal: "conflict" };
      return { refusal: null, nodeId: earlier.nodeId, reservation: earlier, repeated: true };
    }
    if (wish.creates && this.#isGuarded(nowMs)) return { refusal: "unavailable" };
    const reasons: Record<string, number> = {};
    const candidates = [...state.nodes.values()].filter((node) => {
      const reason = whyOut(state, node, wish, nowMs);
      if (reason !== null) reasons[reason] = (reasons[reason] ?? 0) + 1;
      return reason === null;
    });
    if (candidates.length === 0) return { refusal: "no_nodes", reasons };
    const node = choose(state, candidates, wish, nowMs);
    node.chosenAt = ++state.choices;
    if (!wish.creates) return { refusal: null, nodeId: node.nodeId, reservation: null, repeated: false };
    const charge = {
      cpu: this.#chargeOf(node, wish.demand, "cpu"),
      memory: this.#chargeOf(node, wish.demand, "memory"),
    };
    const reservation: ModelReservation = {
      id: names?.id ?? "nothing was reserved",
      token: names?.token ?? null,
      nodeId: node.nodeId,
      managed: message.managed,
      hint: message.hint,
      requestKey,
      asked: wish.demand,
      madeAt: state.position,
      createdMs: nowMs,
      size: wish.demand,
      charge,
      firstCharge: charge,
      state: "pending",
      reason: null,
      leaseEndMs: nowMs + state.config.placementReservationTtlMs,
      uncertain: false,
      late: false,
      sandboxId: null,
      provisional: false,
      confirmedMs: 0,
      instancesAtConfirm: 0,
      provenBy: null,
      lacked: false,
      firstSnapshotMs: null,
    };
    state.reservations.push(reservation);
    return { refusal: null, nodeId: node.nodeId, reservation, repeated: false };
  }

  /** Section 1: "allocated ÷ (running + starting) of the newest report, rounded up, nothing where there are none". */
  #chargeOf(node: ModelNode, demand: ModelReservation["size"], dimension: keyof Amounts): number {
    const known = demand[dimension];
    if (known !== null) return known;
    const assumed = this.state.config.assumedResources[dimension];
    if (assumed === "none") return 0;
    if (assumed !== "observed") return assumed;
    if (node.snapshot === null) return 0;
    const { allocatedCpuMillicores, allocatedMemoryBytes, sandboxCount, sandboxStartingCount } = node.snapshot;
    const there = sandboxCount + sandboxStartingCount;
    return there === 0 ? 0 : Math.ceil((dimension === "cpu" ? allocatedCpuMillicores : allocatedMemoryBytes) / there);
  }

  /** "creation requests are `unavailable` until all configured … nodes have reported, at most `start_guard`." */
  #isGuarded(nowMs: number): boolean {
    const { config, startMs, reported } = this.state;
    const missing = (config.nodes ?? []).some(({ nodeId }) => !reported.has(nodeId));
    return missing && nowMs < startMs + config.startGuardMs;
  }

  #heartbeat(message: Heartbeat, nowMs: number): Expectation {
    const { nodes, config } = this.state;
    let node = nodes.get(message.nodeId);
    if (node === undefined) {
      if (config.nodes !== null) return { refusal: "invalid_argument" };
      node = newNode(message.nodeId, false, message.endpoint);
      nodes.set(message.nodeId, node);
    }
    return { refusal: null, accepted: takeHeartbeat(this.state, node, message, nowMs) };
  }

  #unregister(nodeId: string, instance: string, nowMs: number): Expectation {
    const node = this.state.nodes.get(nodeId);
    const part = node === undefined ? null : node.ledger ? node.daemon : node.runtime;
    if (node === undefined || part === null) return OK;
    if (part.instance !== instance) return { refusal: "conflict" };
    node.unregistered = { instance, atMs: nowMs };
    return OK;
  }

  #undelivered(id: string, nowMs: number): Expectation {
    const reservation = this.state.reservations.find((one) => one.id === id);
    if (reservation !== undefined) lifecycle.undelivered(this.state, reservation, nowMs);
    return OK;
  }

  #close(handle: string, run: (reservation: ModelReservation) => lifecycle.Verdict): Expectation {
    const reservation = this.state.reservations.find(({ id, token }) => id === handle || token === handle);
    if (reservation === undefined) return { refusal: "not_found" };
    const verdict = run(reservation);
    if (verdict !== "changed" && verdict !== "repeated") return { refusal: verdict };
    return { refusal: null, reservation, repeated: verdict === "repeated" };
  }

  #operate(nodeId: string, run: (node: ModelNode) => void): Expectation {
    const node = this.state.nodes.get(nodeId);
    if (node === undefined || !isShown(this.state, node)) return { refusal: "not_found" };
    run(node);
    return OK;
  }
}
