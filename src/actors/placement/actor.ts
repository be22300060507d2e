import type { EventEmitter } from "eventemitter3";
import { refuse } from "../../messages/errors.ts";
import type { PlacementMessage, Reply } from "../../messages/placement.ts";
import { describeThrown } from "../../messages/thrown.ts";
import type { Timer } from "../../ports/clock.ts";
import { type Directory, foldAssignments } from "../directory/client.ts";
import type { Actor, ActorContext, Answer, LocalActor } from "../kernel/actor.ts";
import { backoffMs } from "../kernel/backoff.ts";
import { laneOf, type PlacementActorMessage, type PlacementEvents, type ReadinessAnswer } from "./client.ts";
import { CommitQueue } from "./commit-queue.ts";
import type { PlacementConfig } from "./config.ts";
import { assignmentEntriesOf, type EventLog, type LogEntry, placementEventsOf } from "./event-log.ts";
import type { Instant } from "./instant.ts";
import { createPlacement, type Placement } from "./state.ts";
import type { TurnOutcome } from "./turn.ts";

export interface PlacementActorOptions {
  readonly config: PlacementConfig;
  readonly log: EventLog;
  /** Hears where sandboxes are. */
  readonly directory: Directory;
  readonly events: EventEmitter<PlacementEvents>;
  /** Decisions that may wait for the log; further new work is refused as overloaded, and nothing is decided. */
  readonly waitingMax: number;
}

/** Freed capacity shows within 1 s without a request having to come by; half of that leaves room for a busy loop. */
const TICK_MS_MAX = 500;
/** Leases that end one after another share a tick: closer ones would only be work. */
const TICK_MS_MIN = 20;

/** Beyond the slew of a disciplined clock between two messages; less would make times that are shown flicker. */
const CLOCK_JUMP_MS = 50;

/**
 * ```
 *               log read                    append failed
 *  recovering ────────────▶ serving ──────────────────────▶ recovering
 *      └── read failed: again after a back-off
 * ```
 * `waitsFor` says in words why nothing is served.
 */
type Phase =
  | { readonly name: "serving"; readonly placement: Placement }
  | { readonly name: "recovering"; readonly waitsFor: string };

/**
 * Everything that a placement decision reads has this one owner. It is thin: it gives the core its messages and the
 * time, and lets no answer leave before the log has what it rests on. When the log fails, it answers what hangs on it
 * as unknown and rebuilds itself from what was committed; there is no undo.
 */
export function placementActor(options: PlacementActorOptions): LocalActor<PlacementActorMessage> {
  return { create: (context) => new PlacementActor(options, context) };
}

class PlacementActor implements Actor<PlacementActorMessage> {
  readonly #options: PlacementActorOptions;
  readonly #context: ActorContext;
  readonly #queue: CommitQueue;
  #phase: Phase = { name: "recovering", waitsFor: "the log has not been read yet" };
  #failuresInRow = 0;
  /** Wall time minus monotonic time. */
  #clocksApartMs = Number.NEGATIVE_INFINITY;
  #tickTimer: Timer | null = null;
  #stopped = false;

  constructor(options: PlacementActorOptions, context: ActorContext) {
    this.#options = options;
    this.#context = context;
    this.#queue = new CommitQueue({
      log: options.log,
      clock: context.clock,
      onFailed: (reason) => this.#recoverLater(reason),
    });
    this.#recover();
    this.#tickIn(TICK_MS_MAX);
  }

  receive(message: PlacementActorMessage, answer: Answer): void {
    if (message.type === "readiness") answer(this.#readiness());
    else if (this.#phase.name !== "serving") answer(unchanged(this.#phase.waitsFor));
    else if (this.#queue.waiting >= this.#waitingMax(message)) this.#refuseAsOverloaded(answer);
    else this.#decide(this.#phase.placement, message, answer);
  }

  /**
   * While an append takes its time the mailbox empties, so what it let through is bounded here once more. What closes
   * work has as much room again, so that new work never shuts it out.
   */
  #waitingMax({ type }: PlacementMessage): number {
    const { waitingMax } = this.#options;
    return laneOf(type) === "urgent" ? 2 * waitingMax : waitingMax;
  }

  drained(): void {
    this.#queue.flush();
  }

  stopped(): void {
    this.#stopped = true;
    this.#tickTimer?.cancel();
  }

  #refuseAsOverloaded(answer: Answer): void {
    this.#options.events.emit("overloaded");
    answer(OVERLOADED);
  }

  #decide(placement: Placement, message: PlacementMessage, answer: Answer): void {
    const outcome = placement.handle(message, this.#now());
    if (message.type === "tick") this.#tickAtNextDue(placement);
    this.#queue.add(entriesOf(outcome), (committed) => {
      if (!committed) {
        answer(UNKNOWN);
        return;
      }
      this.#failuresInRow = 0;
      // Look-ups that come after the answer must find what the answer says.
      if (outcome.routes.length > 0) this.#options.directory.tell({ type: "routes", changes: outcome.routes });
      this.#publish(outcome);
      answer(outcome.reply);
    });
  }

  #publish({ events, notices }: TurnOutcome<unknown>): void {
    if (events.length === 0 && notices.length === 0) return;
    try {
      this.#options.events.emit("committed", { events, notices });
    } catch (thrown) {
      // A subscriber that fails must not keep the answers of the same batch.
      this.#context.log.error({ reason: describeThrown(thrown) }, "a subscriber of the placement actor failed");
    }
  }

  #readiness(): ReadinessAnswer {
    if (this.#phase.name === "recovering") return { ready: false, waitsFor: this.#phase.waitsFor };
    const past = this.#phase.placement.isPastStartGuard(this.#now());
    return past ? { ready: true, waitsFor: null } : { ready: false, waitsFor: "nodes that have not reported yet" };
  }

  #recoverLater(reason: string): void {
    this.#failuresInRow += 1;
    const retryMs = backoffMs(this.#failuresInRow);
    this.#phase = { name: "recovering", waitsFor: `the log failed: ${reason}` };
    this.#options.events.emit("commitFailed", { reason, retryMs });
    this.#context.clock.after(retryMs, () => this.#recover());
  }

  #recover(): void {
    const { log, config } = this.#options;
    if (this.#stopped) return;
    if (log.read === null) {
      this.#serve(createPlacement(config, this.#context, this.#now()));
      return;
    }
    log.read((content) => {
      if (this.#stopped) return;
      if (!content.ok) {
        this.#recoverLater(content.reason);
        return;
      }
      try {
        const placement = createPlacement(config, this.#context, this.#now());
        const entries = [...content.entries];
        placement.replay(placementEventsOf(entries), this.#now());
        this.#restoreDirectory(entries);
        this.#serve(placement);
      } catch (thrown) {
        // Whole rows that make no sense together: to serve without them would double-book what they stand for.
        this.#recoverLater(`it cannot be replayed: ${describeThrown(thrown)}`);
      }
    });
  }

  /** After a failed append too: what it was told of is not known to be committed, and may be all the same. */
  #restoreDirectory(entries: readonly LogEntry[]): void {
    const changes = foldAssignments(assignmentEntriesOf(entries));
    this.#options.directory.tell({ type: "restore", changes }, "urgent");
  }

  #serve(placement: Placement): void {
    this.#phase = { name: "serving", placement };
  }

  /** Re-arms itself, whatever becomes of the message: a full mailbox must not end the passing of time. */
  #tickIn(delayMs: number): void {
    this.#tickTimer?.cancel();
    this.#tickTimer = this.#context.clock.after(delayMs, () => {
      this.#tickIn(TICK_MS_MAX);
      this.#context.tellSelf({ type: "tick" }, "urgent");
    });
  }

  #tickAtNextDue(placement: Placement): void {
    const dueMs = placement.nextDueMs() ?? Number.POSITIVE_INFINITY;
    const inMs = dueMs - this.#context.clock.monotonicMs();
    this.#tickIn(Math.min(Math.max(inMs, TICK_MS_MIN), TICK_MS_MAX));
  }

  /**
   * Both clocks in whole milliseconds, at a distance that stays until the wall clock jumps: the same instant is shown as
   * the same time whenever it is looked at.
   */
  #now(): Instant {
    const { clock } = this.#context;
    const monotonicMs = clock.monotonicMs();
    const apartMs = clock.wallMs() - monotonicMs;
    if (Math.abs(apartMs - this.#clocksApartMs) > CLOCK_JUMP_MS) this.#clocksApartMs = Math.round(apartMs);
    const nowMs = Math.floor(monotonicMs);
    return { nowMs, wallMs: nowMs + this.#clocksApartMs };
  }
}

/** What of an outcome stands in the log. */
function entriesOf({ events, routes }: TurnOutcome<unknown>): readonly LogEntry[] {
  if (routes.length === 0) return events;
  const entries: LogEntry[] = [...events];
  for (const route of routes) if (route.type !== "roster") entries.push({ route });
  return entries;
}

const OVERLOADED: Reply<never> = {
  ok: false,
  refusal: refuse("overloaded", "too many decisions wait for the log; nothing was changed, try again", {}),
};

const UNKNOWN: Reply<never> = {
  ok: false,
  refusal: refuse("unavailable", "the change could not be made durable; repeat it with the same token or request_id", {
    retry: "unknown",
  }),
};

function unchanged(waitsFor: string): Reply<never> {
  return {
    ok: false,
    refusal: refuse("unavailable", `the scheduler is starting: ${waitsFor}`, { retry: "unchanged" }),
  };
}
