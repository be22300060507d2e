/** All that others use of the placement actor. */
import { EventEmitter } from "eventemitter3";
import { type ErrorCode, type Refusal, refuse } from "../../messages/errors.ts";
import type { PlacementAnswers, PlacementMessage, ReplyTo } from "../../messages/placement.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Lane } from "../kernel/message.ts";
import type { ActorError, Outcome as KernelOutcome } from "../kernel/outcome.ts";
import type { AskOptions, Reference } from "../kernel/reference.ts";
import type { Speaking } from "../kernel/references.ts";
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
  /** Never rejects; whatever keeps the actor from answering is a refusal too. */
  ask<M extends PlacementMessage>(message: M): Promise<ReplyTo<M["type"]>>;
  /** The same without a promise; `onReply` is as a reference's `onOutcome`. */
  askThen<M extends PlacementMessage>(message: M, onReply: (reply: ReplyTo<M["type"]>) => void): void;
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
 * schedules. Everything about nodes shares one lane, because it is handled in arrival order. Nodes are counted for metrics
 * in that lane too: an overload is when somebody looks.
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
  const deliveryFailed = (reservationId: string): void => {
    // Refused by a full mailbox it is lost, and the lease ends the reservation instead.
    reference.tell({ type: "delivery_failed", reservationId }, "urgent");
  };
  // Its caller has been told that the scheduler could not answer.
  const scheduling: AskOptions = {
    ...ASKING.normal,
    onLate: (answer) => {
      const reservationId = reservationIn(answer as ReplyTo<"schedule">);
      if (reservationId !== null) deliveryFailed(reservationId);
    },
  };
  const askThen = <M extends PlacementMessage>(message: M, onReply: (reply: ReplyTo<M["type"]>) => void): void => {
    const conclude = beginQuestion(message, events, clock);
    const options = message.type === "schedule" ? scheduling : ASKING[laneOf(message.type)];
    reference.askThen<M["type"]>(message as never, options, (outcome) => {
      onReply(conclude(outcome) as ReplyTo<M["type"]>);
    });
  };
  return {
    events,
    askThen,
    ask: (message) => new Promise((resolve) => askThen(message, resolve)),
    deliveryFailed,
    async readiness() {
      const outcome = await reference.ask({ type: "readiness" }, { deadlineMs: READINESS_DEADLINE_MS, lane: "urgent" });
      return outcome.ok ? outcome.value : { ready: false, waitsFor: outcome.error.message };
    },
  };
}

/** The id of the reservation that the answer to a schedule carries; null for none. */
export function reservationIn(reply: ReplyTo<"schedule">): string | null {
  return reply.ok ? (reply.answer.reservation?.id ?? null) : null;
}

/** The returned function takes the outcome, tells `events` of it, and says what whoever asked is to be told. */
export function beginQuestion(
  message: PlacementMessage,
  events: PlacementClient["events"],
  clock: Clock,
): (outcome: KernelOutcome<unknown>) => AnyReply {
  const startedMs = clock.monotonicMs();
  return (outcome) => {
    const reply = replyOf(outcome);
    events.emit("answered", { message, reply, durationMs: clock.monotonicMs() - startedMs });
    return reply;
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
