/** All that others use of the placement actor. */
import { EventEmitter } from "eventemitter3";
import { type ErrorCode, type Refusal, refuse } from "../../messages/errors.ts";
import type { PlacementAnswers, PlacementMessage, ReplyTo } from "../../messages/placement.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Lane } from "../kernel/message.ts";
import type { Speaking } from "../kernel/references.ts";
import type { ActorError, Outcome as KernelOutcome } from "../kernel/outcome.ts";
import type { AskOptions, Reference } from "../kernel/reference.ts";
import type { PlacementEvent } from "./events.ts";
import type { Notice } from "./turn.ts";

export type { Change, PlacementEvent } from "./events.ts";
export type { Notice, RouteChange } from "./turn.ts";

/** Whether requests are taken. Waits for no commit: liveness never queues behind a disk. */
export interface Readiness {
  readonly type: "readiness";
}

export interface ReadinessAnswer {
  readonly ready: boolean;
  /** In words, what it waits for; null when ready. */
  readonly waitsFor: string | null;
}

export type PlacementActorMessage = PlacementMessage | Readiness;

export type PlacementReplies = {
  [Type in keyof PlacementAnswers]: ReplyTo<Type>;
} & { readiness: ReadinessAnswer };

export type PlacementReference = Reference<PlacementActorMessage, PlacementReplies>;

/** What a client needs of the reference. */
export type PlacementAsker = Speaking<PlacementActorMessage, PlacementReplies>;

/** Notifications for logs and metrics, in the order of the log; nothing that was not committed is ever told. */
export interface PlacementEvents {
  committed: (what: { readonly events: readonly PlacementEvent[]; readonly notices: readonly Notice[] }) => void;
  /** The log failed, or could not be read: the actor rebuilds itself from it. */
  commitFailed: (failure: { readonly reason: string; readonly retryMs: number }) => void;
  /** A message was refused, because too many decisions wait for the log. */
  overloaded: () => void;
}

/** Notifications for metrics. */
export interface PlacementClientEvents {
  /** A question ended, after `durationMs` in mailbox, handler and commit. */
  answered: (end: {
    readonly message: PlacementMessage;
    readonly reply: ReplyTo<PlacementMessage["type"]>;
    readonly durationMs: number;
  }) => void;
}

export interface PlacementClient {
  readonly events: EventEmitter<PlacementClientEvents>;
  /** Never rejects; whatever keeps the actor from answering is a refusal too. `lane` is that of `laneOf` when absent. */
  ask<M extends PlacementMessage>(message: M, lane?: Lane): Promise<ReplyTo<M["type"]>>;
  /** The same without a promise. `take` is called once, never before this has returned, and must not throw. */
  put<M extends PlacementMessage>(message: M, take: (reply: ReplyTo<M["type"]>) => void, lane?: Lane): void;
  /** The answer that carried this reservation did not reach its caller. */
  deliveryFailed(reservationId: string): void;
  readiness(): Promise<ReadinessAnswer>;
}

/** Far above any wait of a healthy scheduler, below the patience of callers (proxies give up at 60 s and more). */
const ANSWER_DEADLINE_MS = 10_000;
const READINESS_DEADLINE_MS = 2_000;

/** Made once: each call needs one. */
const ASKING: Readonly<Record<Lane, AskOptions>> = {
  urgent: { deadlineMs: ANSWER_DEADLINE_MS, lane: "urgent" },
  normal: { deadlineMs: ANSWER_DEADLINE_MS, lane: "normal" },
};

/**
 * New work waits behind everything that closes work or says how nodes are: confirms must not be stuck behind a flood of
 * schedules. Everything about nodes shares one lane, because it is handled in arrival order.
 */
export function laneOf(type: PlacementMessage["type"]): Lane {
  switch (type) {
    case "schedule":
    case "get_reservation":
    case "list_reservations":
    case "get_node":
    case "list_nodes":
      return "normal";
    default:
      return "urgent";
  }
}

export function createPlacementClient(reference: PlacementAsker, clock: Clock): PlacementClient {
  const events = new EventEmitter<PlacementClientEvents>();
  const put = <M extends PlacementMessage>(
    message: M,
    take: (reply: ReplyTo<M["type"]>) => void,
    lane = laneOf(message.type),
  ): void => {
    const startedMs = clock.monotonicMs();
    reference.put<M["type"]>(message as never, ASKING[lane], (outcome) => {
      const reply = replyOf(outcome);
      events.emit("answered", { message, reply, durationMs: clock.monotonicMs() - startedMs });
      take(reply as ReplyTo<M["type"]>);
    });
  };
  return {
    events,
    put,
    ask: (message, lane) => new Promise((resolve) => put(message, resolve, lane)),
    deliveryFailed(reservationId) {
      // Refused by a full mailbox it is lost, and the lease ends the reservation instead.
      reference.tell({ type: "delivery_failed", reservationId }, "urgent");
    },
    async readiness() {
      const outcome = await reference.ask({ type: "readiness" }, { deadlineMs: READINESS_DEADLINE_MS, lane: "urgent" });
      return outcome.ok ? outcome.value : { ready: false, waitsFor: outcome.error.message };
    },
  };
}

/** The placement actor, as other threads are given it. */
export interface FarPlacement extends PlacementAsker {
  /** Whoever asked ended, with its thread, before the outcome. */
  undelivered(message: PlacementActorMessage, outcome: KernelOutcome<unknown>): void;
}

/**
 * The reference for clients in other threads: what they ask counts here, as if the client of `events` had asked it. Times
 * are those of this thread, without the way to the other and back.
 */
export function farPlacement(reference: PlacementAsker, events: PlacementClient["events"], clock: Clock): FarPlacement {
  const put: PlacementAsker["put"] = (message, options, take) => {
    const startedMs = clock.monotonicMs();
    reference.put(message, options, (outcome) => {
      if (message.type !== "readiness") {
        const durationMs = clock.monotonicMs() - startedMs;
        // A type parameter keeps the compiler from leaving out the one type of message.
        events.emit("answered", { message: message as PlacementMessage, reply: replyOf(outcome), durationMs });
      }
      take(outcome);
    });
  };
  return {
    tell: (message, lane) => reference.tell(message, lane),
    put,
    ask: (message, options) => new Promise((resolve) => put(message, options, resolve)),
    undelivered({ type }, outcome) {
      if (type !== "schedule" || !outcome.ok) return;
      const reply = outcome.value as ReplyTo<"schedule">;
      if (!reply.ok || reply.answer.reservation === null) return;
      // The callers' connections went with the thread.
      reference.tell({ type: "delivery_failed", reservationId: reply.answer.reservation.id }, "urgent");
    },
  };
}

type AnyReply = ReplyTo<PlacementMessage["type"]>;

/** Whatever kept the actor from answering is a refusal too. */
function replyOf(outcome: KernelOutcome<unknown>): AnyReply {
  return outcome.ok ? (outcome.value as AnyReply) : { ok: false, refusal: refusalOf(outcome.error) };
}

const CODE_OF: Readonly<Record<ActorError["code"], ErrorCode>> = {
  mailbox_full: "overloaded",
  actor_dead: "unavailable",
  deadline: "unavailable",
  failed: "internal",
};

/** What the caller of an API is told when an actor could not answer. The actor's own words are for the log. */
export function refusalOf(error: ActorError): Refusal {
  const code = CODE_OF[error.code];
  switch (code) {
    case "overloaded":
      return refuse(code, "too many requests are waiting; nothing was changed, try again", {});
    case "unavailable":
      return refuse(code, "the scheduler could not answer; repeat the call with the same token or request_id", {
        retry: "unknown",
      });
    default:
      return refuse(code, "the scheduler failed to handle this call; it is not tried again", {});
  }
}
