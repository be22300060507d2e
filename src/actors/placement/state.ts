/**
 * The placement core: every node and every reservation, and what a message does to them. Leases that are over at a
 * message are ended before it is looked at, so that no decision counts them.
 */
import { refuse } from "../../messages/errors.ts";
import type { PlacementMessage, Reply, ReplyTo } from "../../messages/placement.ts";
import type { Random } from "../../ports/random.ts";
import type { PlacementConfig } from "./config.ts";
import type { Core } from "./core.ts";
import { type Change, isNodeChange, type PlacementEvent } from "./events.ts";
import { HANDLERS } from "./handlers.ts";
import { CandidateIndex } from "./index/candidate-index.ts";
import { Slots } from "./index/slots.ts";
import type { Instant } from "./instant.ts";
import { expireLeases } from "./ledger/closing.ts";
import { Ledger } from "./ledger/ledger.ts";
import { NameMint } from "./ledger/names.ts";
import type { ChangeTime } from "./ledger/record.ts";
import { forgetThePast } from "./ledger/retention.ts";
import { Fleet } from "./nodes/fleet.ts";
import { excuseSilence } from "./nodes/lifecycle.ts";
import { hasLimits } from "./nodes/limits.ts";
import { OpenTurn } from "./open-turn.ts";
import { findStrategy, STRATEGY_NAMES } from "./ranking/strategy.ts";
import { isGuarded } from "./scheduling.ts";
import { snapshotOf } from "./snapshot.ts";
import { SWEEP_EVERY_MS } from "./timers.ts";
import type { Turn, TurnOutcome } from "./turn.ts";

/** A handler whose message has the type that it stands under. */
type Handle = (core: Core, turn: Turn, message: PlacementMessage) => Reply<unknown>;

const FAILED: Reply<never> = { ok: false, refusal: refuse("internal", "the request could not be handled") };

export interface PlacementPorts {
  readonly random: Random;
}

/** Throws when the configuration names a strategy that does not exist. `now` is the start that the guard counts from. */
export function createPlacement(config: PlacementConfig, ports: PlacementPorts, now: Instant): Placement {
  return new Placement(config, ports, now);
}

export class Placement {
  readonly #core: Core;
  #position = 0;
  /** Null until the first tick. */
  #lastTurnMs: number | null = null;

  constructor(config: PlacementConfig, ports: PlacementPorts, now: Instant) {
    const strategy = findStrategy(config.strategy);
    if (strategy === undefined) {
      throw new Error(`unknown strategy "${config.strategy}"; one of ${STRATEGY_NAMES.join(", ")}`);
    }
    const slots = new Slots();
    const ledger = new Ledger(slots);
    const fleet = new Fleet({ config, ledger, slots, now });
    this.#core = {
      config,
      limited: hasLimits(config.nodeResourceLimit),
      ledger,
      fleet,
      slots,
      index: new CandidateIndex({ slots, nodes: fleet.nodes, strategy, random: ports.random }),
      guarded: new Set(),
      guardEndMs: now.nowMs + config.startGuardMs,
      newestRules: null,
      mint: new NameMint(ports.random),
      turns: 0,
      lastSweepMs: now.nowMs,
    };
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

  /**
   * Runs the handler of a message. One that throws is answered, and what it had changed before stands, in state and
   * events alike.
   */
  handle<Message extends PlacementMessage>(message: Message, now: Instant): TurnOutcome<ReplyTo<Message["type"]>> {
    this.#position += 1;
    const turn = new OpenTurn(now, this.#position, this.#apply);
    const core = this.#core;
    const handler = HANDLERS[message.type] as Handle;
    // Whoever sends no ticks takes no part in the detection of stalls.
    if (message.type === "tick") this.#lastTurnMs ??= now.nowMs;
    this.#noticeStall(turn, now.nowMs);
    try {
      expireLeases(core, turn);
      turn.reply = handler(core, turn, message);
      const { ledger, config } = core;
      if (Math.max(ledger.ended.size, ledger.named.size) > config.rememberedMax) forgetThePast(core, turn);
    } catch (error) {
      turn.notice({ type: "handler_failed", message: error instanceof Error ? error.message : String(error) });
      turn.reply = FAILED;
    }
    return turn as TurnOutcome<ReplyTo<Message["type"]>>;
  }

  /** Whether creations do not wait for nodes any more; with a replay done, the process is ready. */
  isPastStartGuard(now: Instant): boolean {
    return !isGuarded(this.#core, now.nowMs);
  }

  /** When time alone changes something next, at the earliest; null when nothing is there to change. */
  nextDueMs(): number | null {
    const { ledger, fleet, guarded, guardEndMs, lastSweepMs } = this.#core;
    const dues = [
      ledger.leases.peek()?.leaseEndMs,
      guarded.size > 0 ? guardEndMs : undefined,
      fleet.nodes.size + ledger.ended.size + ledger.named.size > 0 ? lastSweepMs + SWEEP_EVERY_MS : undefined,
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
    this.#core.mint.continueAfter(ledger.reservations.newestNumber);
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
}
