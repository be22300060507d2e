import type { Published } from "../../messages/resource.ts";
import type { Timer } from "../../ports/clock.ts";
import type { Actor, ActorContext, LocalActor } from "../kernel/actor.ts";
import { type HeartbeatSender, openHeartbeatSender, type SenderOptions } from "./sender.ts";
import { initialState, onPublished, onRetry, onSent, retryWaitMs, type SendOutcome, type Step } from "./state.ts";

/** What the reporter understands: new states from the cache, and the ends of its own effects. */
export type ReporterMessage =
  | Published
  | { readonly type: "sent"; readonly outcome: SendOutcome }
  | { readonly type: "retry" };

export interface ReporterOptions extends Omit<SenderOptions, "serviceInstanceId" | "clock"> {
  /** Between two refreshes; also the shortest wait after a failure. */
  readonly intervalMs: number;
}

/** 128 random bits: two daemons of one node, or two lives of one, are never taken for the same. */
const INSTANCE_BYTES = 16;

/**
 * Tells a scheduler what the cache publishes: one heartbeat per finished refresh, never two at a time. It only listens,
 * so sampling and the socket never wait for a scheduler.
 */
export function reporter(options: ReporterOptions): LocalActor<ReporterMessage> {
  return { create: (context) => createReporter(options, context) };
}

function createReporter(options: ReporterOptions, context: ActorContext): Actor<ReporterMessage> {
  const { schedulerUrl, intervalMs } = options;
  const { clock, random, log } = context;
  const tellSelf = (message: ReporterMessage): void => context.tellSelf(message);
  const serviceInstanceId = Buffer.from(random.bytes(INSTANCE_BYTES)).toString("hex");
  const sender: HeartbeatSender = openHeartbeatSender({ ...options, serviceInstanceId, clock });
  let state = initialState();
  let retry: Timer | null = null;

  function take({ state: next, send, retryAfterFailures, changed }: Step): void {
    state = next;
    if (changed !== undefined) logStanding(changed);
    if (send !== undefined) sender.send(send, (outcome) => tellSelf({ type: "sent", outcome }));
    if (retryAfterFailures === undefined) return;
    const waitMs = retryWaitMs({ failuresInRow: retryAfterFailures, intervalMs, fraction: random.fraction() });
    retry = clock.after(waitMs, () => tellSelf({ type: "retry" }));
  }

  function logStanding(standing: SendOutcome): void {
    const fields = { scheduler: schedulerUrl };
    switch (standing.kind) {
      case "accepted":
        return log.info(fields, `reporting to the scheduler at ${schedulerUrl}`);
      case "refused":
        return log.warn(fields, `the scheduler at ${schedulerUrl} refuses this node's heartbeats: ${standing.why}`);
      case "away":
        return log.warn(
          fields,
          `lost the scheduler at ${schedulerUrl}: ${standing.why}; trying again until it is back`,
        );
      default:
        return standing satisfies never;
    }
  }

  return {
    receive(message) {
      switch (message.type) {
        case "published":
          return take(onPublished(state, message));
        case "sent":
          return take(onSent(state, message.outcome));
        case "retry":
          return take(onRetry(state));
        default:
          return message satisfies never;
      }
    },
    stopped() {
      retry?.cancel();
      sender.close();
    },
  };
}
