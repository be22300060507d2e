/** The placement actor as other threads are given it, in the thread where it lives. */
import type { ReplyTo } from "../../messages/placement.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Outcome } from "../kernel/outcome.ts";
import { type AskThen, promising } from "../kernel/reference.ts";
import {
  beginQuestion,
  type PlacementActorMessage,
  type PlacementClient,
  type PlacementReference,
  reservationIn,
} from "./client.ts";

export interface ServedPlacement extends PlacementReference {
  /** Whoever asked ended, with its thread, or gave up before the outcome. */
  undelivered(message: PlacementActorMessage, outcome: Outcome<unknown>): void;
}

/**
 * What clients in other threads ask by it counts in this one, as if the client of `events` had asked. Times are those of
 * this thread, without the way to the other and back.
 */
export function servePlacement(
  reference: PlacementReference,
  events: PlacementClient["events"],
  clock: Clock,
): ServedPlacement {
  const askThen: AskThen<PlacementActorMessage> = (message, options, onOutcome) => {
    const conclude = message.type === "readiness" ? null : beginQuestion(message, events, clock);
    reference.askThen<PlacementActorMessage["type"]>(message, options, (outcome) => {
      conclude?.(outcome);
      onOutcome(outcome as Outcome<never>);
    });
  };
  return {
    ...reference,
    askThen,
    ask: promising(askThen),
    undelivered({ type }, outcome) {
      if (type !== "schedule" || !outcome.ok) return;
      const reservationId = reservationIn(outcome.value as ReplyTo<"schedule">);
      // The callers' connections went with the thread, or were answered that nothing is known.
      if (reservationId !== null) reference.tell({ type: "delivery_failed", reservationId }, "urgent");
    },
  };
}
