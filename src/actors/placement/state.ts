/**
 * The placement core: every node and every reservation, and one handler per message. A handler runs to its end before
 * the next begins; what it does depends on the state, the message, the time and chance, and on nothing else.
 *
 * Leases that are over at a message are ended before it is looked at, so that no decision counts them.
 */
import { type Refusal, refuse } from "../../messages/errors.ts";
import type {
  ClearCondition,
  Cordon,
  GetNode,
  Heartbeat,
  SandboxEvents,
  Uncordon,
  UnregisterNode,
} from "../../messages/nodes.ts";
import type {
  Cancel,
  Confirm,
  DeliveryFailed,
  Done,
  GetReservation,
  HeartbeatAnswer,
  ListReservations,
  MarkUncertain,
  NodeAnswer,
  NodesAnswer,
  PlacementMessage,
  RecordAssignment,
  ReleaseSandbox,
  Renew,
  Reply,
  ReplyTo,
  ReservationAnswer,
  ReservationsAnswer,
  Schedule,
  ScheduleAnswer,
} from "../../messages/placement.ts";
import type { Random } from "../../ports/random.ts";
import type { PlacementConfig } from "./config.ts";
import type { Core } from "./core.ts";
import { dispatch } from "./dispatch.ts";
import { type Change, type Instant, isNodeChange, type Outcome, type PlacementEvent } from "./events.ts";
import { CandidateIndex } from "./index/candidate-index.ts";
import { Slots } from "./index/slots.ts";
import {
  type Closing,
  cancel,
  expireLeases,
  markUncertain,
  renew,
  sandboxDeleted,
  undelivered,
} from "./ledger/closing.ts";
import { confirm } from "./ledger/confirming.ts";
import { Ledger } from "./ledger/ledger.ts";
import { listReservations } from "./ledger/listing.ts";
import type { ChangeTime } from "./ledger/record.ts";
import type { Reservation } from "./ledger/reservation.ts";
import { forgetThePast } from "./ledger/retention.ts";
import { isToken, NameMint } from "./ledger/tokens.ts";
import { viewOf } from "./ledger/view.ts";
import { Fleet } from "./nodes/fleet.ts";
import { excuseSilence } from "./nodes/lifecycle.ts";
import { hasLimits } from "./nodes/limits.ts";
import type { Node } from "./nodes/node.ts";
import { isShown, nodeViewOf, nodeViewsOf } from "./nodes/view.ts";
import { clearCondition, cordon, recordAssignment, uncordon, unregister } from "./operating.ts";
import { findStrategy, STRATEGY_NAMES } from "./ranking/strategy.ts";
import { takeHeartbeat } from "./reports.ts";
import { takeSandboxEvents } from "./sandbox-events.ts";
import { isGuarded, type Scheduling, schedule } from "./scheduling.ts";
import { snapshotOf } from "./snapshot.ts";
import { SWEEP_EVERY_MS, sweep } from "./timers.ts";
import { OpenTurn } from "./turn.ts";

export interface PlacementPorts {
  readonly random: Random;
}

/** Throws when the configuration names a strategy that does not exist. `now` is the start that the guard counts from. */
export function createPlacement(config: PlacementConfig, ports: PlacementPorts, now: Instant): Placement {
  return new Placement(config, ports, now);
}

export class Placement {
  readonly #core: Core;
  readonly #scheduling: Scheduling;
  #position = 0;
  /** Null until the first tick: whoever sends none takes no part in the detection of stalls. */
  #lastTurnMs: number | null = null;
  #lastSweepMs: number;

  constructor(config: PlacementConfig, ports: PlacementPorts, now: Instant) {
    const strategy = findStrategy(config.strategy);
    if (strategy === undefined) {
      throw new Error(`unknown strategy "${config.strategy}"; one of ${STRATEGY_NAMES.join(", ")}`);
    }
    const slots = new Slots();
    const ledger = new Ledger(slots);
    this.#core = {
      config,
      limited: hasLimits(config.nodeResourceLimit),
      ledger,
      fleet: new Fleet({ config, ledger, slots, now }),
      slots,
      index: new CandidateIndex(slots, strategy, ports.random),
      guarded: new Set(),
      guardEndMs: now.nowMs + config.startGuardMs,
      newestRules: null,
    };
    this.#scheduling = { mint: new NameMint(ports.random), turns: 0 };
    this.#lastSweepMs = now.nowMs;
    this.#guardAgainst();
  }

  /** For whoever wants to look, such as a checker of sums. To be read, not changed. */
  get core(): Core {
    return this.#core;
  }

  /** Position in the mailbox of the newest message. */
  get position(): number {
    return this.#position;
  }

  /** Hands a message to its handler. */
  handle(message: PlacementMessage, now: Instant): Outcome<ReplyTo<PlacementMessage["type"]>> {
    return dispatch(this, message, now);
  }

  onSchedule(message: Schedule, now: Instant): Outcome<Reply<ScheduleAnswer>> {
    return this.#turn(now, (turn) => schedule(this.#core, turn, this.#scheduling, message));
  }

  onConfirm(message: Confirm, now: Instant): Outcome<Reply<ReservationAnswer>> {
    return this.#close(message, now, (turn, reservation) => confirm(this.#core, turn, reservation, message));
  }

  onCancel(message: Cancel, now: Instant): Outcome<Reply<ReservationAnswer>> {
    return this.#close(message, now, (turn, reservation) => cancel(this.#core, turn, reservation, message.reason));
  }

  onRenew(message: Renew, now: Instant): Outcome<Reply<ReservationAnswer>> {
    return this.#close(message, now, (turn, reservation) => renew(this.#core, turn, reservation));
  }

  onUncertain(message: MarkUncertain, now: Instant): Outcome<Reply<ReservationAnswer>> {
    return this.#close(message, now, (turn, reservation) => markUncertain(this.#core, turn, reservation));
  }

  onGetReservation(message: GetReservation, now: Instant): Outcome<Reply<ReservationAnswer>> {
    return this.#close(message, now, () => ({ repeated: true }));
  }

  onListReservations(message: ListReservations, now: Instant): Outcome<Reply<ReservationsAnswer>> {
    return this.#turn(now, () => listReservations(this.#core.ledger, message));
  }

  onReleaseSandbox(message: ReleaseSandbox, now: Instant): Outcome<Reply<Done>> {
    return this.#turn(now, (turn) => {
      sandboxDeleted(this.#core, turn, { sandboxId: message.sandboxId, nodeId: null });
      return DONE;
    });
  }

  onHeartbeat(message: Heartbeat, now: Instant): Outcome<Reply<HeartbeatAnswer>> {
    return this.#turn(now, (turn) => takeHeartbeat(this.#core, turn, message));
  }

  onSandboxEvents(message: SandboxEvents, now: Instant): Outcome<Reply<Done>> {
    return this.#turn(now, (turn) => takeSandboxEvents(this.#core, turn, message));
  }

  onRecordAssignment(message: RecordAssignment, now: Instant): Outcome<Reply<Done>> {
    return this.#turn(now, (turn) => recordAssignment(this.#core, turn, message));
  }

  onCordon(message: Cordon, now: Instant): Outcome<Reply<NodeAnswer>> {
    return this.#operate(message, now, (turn, node) => cordon(turn, node, message.reason));
  }

  onUncordon(message: Uncordon, now: Instant): Outcome<Reply<NodeAnswer>> {
    return this.#operate(message, now, uncordon);
  }

  onClearCondition(message: ClearCondition, now: Instant): Outcome<Reply<NodeAnswer>> {
    return this.#operate(message, now, (turn, node) => clearCondition(turn, node, message.condition));
  }

  onUnregister(message: UnregisterNode, now: Instant): Outcome<Reply<Done>> {
    return this.#turn(now, (turn) => unregister(this.#core, turn, message));
  }

  onGetNode(message: GetNode, now: Instant): Outcome<Reply<NodeAnswer>> {
    return this.#operate(message, now, () => {});
  }

  onListNodes(now: Instant): Outcome<Reply<NodesAnswer>> {
    return this.#turn(now, () => ({ ok: true, answer: { nodes: nodeViewsOf(this.#core, now) } }));
  }

  onDeliveryFailed(message: DeliveryFailed, now: Instant): Outcome<Reply<Done>> {
    return this.#turn(now, (turn) => {
      const reservation = this.#core.ledger.reservations.get(message.reservationId);
      if (reservation !== undefined) undelivered(this.#core, turn, reservation);
      return DONE;
    });
  }

  onTick(now: Instant): Outcome<Reply<Done>> {
    this.#lastTurnMs ??= now.nowMs;
    return this.#turn(now, (turn) => {
      isGuarded(this.#core, now.nowMs);
      if (now.nowMs - this.#lastSweepMs >= SWEEP_EVERY_MS) {
        this.#lastSweepMs = now.nowMs;
        sweep(this.#core, turn);
      }
      return DONE;
    });
  }

  /** Whether creations do not wait for nodes any more; with a replay done, the process is ready. */
  isPastStartGuard(now: Instant): boolean {
    return !isGuarded(this.#core, now.nowMs);
  }

  /** When time alone changes something next, at the earliest; null when nothing is there to change. */
  nextDueMs(): number | null {
    const { ledger, fleet, guarded, guardEndMs } = this.#core;
    const dues = [
      ledger.leases.peek()?.leaseEndMs,
      guarded.size > 0 ? guardEndMs : undefined,
      fleet.nodes.size + ledger.ended.size + ledger.named.size > 0 ? this.#lastSweepMs + SWEEP_EVERY_MS : undefined,
    ].filter((dueMs) => dueMs !== undefined);
    return dues.length === 0 ? null : Math.min(...dues);
  }

  /**
   * Rebuilds durable state on an empty core from a log, oldest first, and judges nothing. Times come by the wall clock;
   * each lease has what it leaves, at most a full one and at least `uncertainTtlMs`. Nodes named in the log are awaited.
   */
  replay(events: Iterable<PlacementEvent>, now: Instant): void {
    const { ledger, fleet, config } = this.#core;
    this.fold(events, now);
    ledger.resume({
      nowMs: now.nowMs,
      leastMs: config.uncertainTtlMs,
      mostMs: config.placementReservationTtlMs,
      keeps: ({ uncertain, terms, leaseEndMs }) =>
        uncertain &&
        leaseEndMs >= now.nowMs + config.uncertainTtlMs &&
        (fleet.nodes.get(terms.nodeId)?.ledger ?? false),
    });
    this.#scheduling.mint.continueAfter(ledger.reservations.newestNumber);
    fleet.awaitAll(now.nowMs);
    this.#guardAgainst();
  }

  /** The first half of a replay: durable state as the log left it. Enough to make a snapshot of, not to decide on. */
  fold(events: Iterable<PlacementEvent>, now: Instant): void {
    for (const { position, wallMs, change } of events) {
      this.#position = Math.max(this.#position, position);
      // A wall clock set back must not put the past into the future.
      const agoMs = Math.max(0, now.wallMs - wallMs);
      this.#apply(change, { position, wallMs, nowMs: now.nowMs - agoMs });
    }
  }

  /** All durable state as events that rebuild it: a log may be cut off before them. */
  snapshot(now: Instant): PlacementEvent[] {
    return snapshotOf(this.#core, this.#position, now);
  }

  #guardAgainst(): void {
    const { fleet, guarded } = this.#core;
    for (const node of fleet.nodes.values()) {
      const waits = (node.awaited || node.configured !== null) && node.unregistered === null;
      if (waits && fleet.admits(node.nodeId)) guarded.add(node.nodeId);
      else guarded.delete(node.nodeId);
    }
  }

  readonly #apply = (change: Change, at: ChangeTime): void => {
    if (isNodeChange(change)) this.#core.fleet.apply(change, at);
    else this.#core.ledger.apply(change, at);
  };

  /** Runs one handler. One that throws is answered, and what it had changed before stands, in state and events alike. */
  #turn<Answer>(now: Instant, run: (turn: OpenTurn) => Reply<Answer>): Outcome<Reply<Answer>> {
    this.#position += 1;
    const at = { nowMs: now.nowMs, wallMs: now.wallMs, position: this.#position };
    const turn = new OpenTurn(at, this.#apply);
    this.#noticeStall(turn, now.nowMs);
    let reply: Reply<Answer>;
    try {
      expireLeases(this.#core, turn);
      reply = run(turn);
      const { ledger, config } = this.#core;
      if (Math.max(ledger.ended.size, ledger.named.size) > config.rememberedMax) forgetThePast(this.#core, turn);
    } catch (error) {
      turn.notice({ type: "handler_failed", message: error instanceof Error ? error.message : String(error) });
      reply = refused(refuse("internal", "the request could not be handled"));
    }
    return turn.close(reply);
  }

  /** While this process stood still no report was taken in. */
  #noticeStall(turn: OpenTurn, nowMs: number): void {
    if (this.#lastTurnMs === null) return;
    const { config, fleet, slots } = this.#core;
    const stall = { nowMs: this.#lastTurnMs, reportTtlMs: config.reportTtlMs };
    const silentMs = nowMs - this.#lastTurnMs;
    this.#lastTurnMs = nowMs;
    if (silentMs <= config.reportTtlMs / 2) return;
    for (const node of fleet.nodes.values()) excuseSilence(node, stall, nowMs);
    slots.touchAll();
    turn.notice({ type: "stalled", silentMs });
  }

  #close(
    message: { readonly handle: string },
    now: Instant,
    run: (turn: OpenTurn, reservation: Reservation) => Closing,
  ): Outcome<Reply<ReservationAnswer>> {
    return this.#turn(now, (turn) => {
      const reservation = this.#core.ledger.find(message.handle);
      if (reservation === undefined) return refused(refuse("not_found", "reservation not found"));
      const closing = run(turn, reservation);
      if ("refusal" in closing) return refused(closing.refusal);
      const view = viewOf(reservation, isToken(message.handle));
      return { ok: true, answer: { reservation: view, repeated: closing.repeated } };
    });
  }

  #operate(
    { nodeId }: { readonly nodeId: string },
    now: Instant,
    run: (turn: OpenTurn, node: Node) => void,
  ): Outcome<Reply<NodeAnswer>> {
    return this.#turn(now, (turn) => {
      const node = this.#core.fleet.nodes.get(nodeId);
      if (node === undefined || !isShown(node)) return refused(refuse("not_found", "node not found"));
      run(turn, node);
      return { ok: true, answer: { node: nodeViewOf(this.#core, node, now) } };
    });
  }
}

const DONE: Reply<Done> = { ok: true, answer: {} };

function refused(refusal: Refusal): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal };
}
