/** Counts, and hands its count over when it is moved. */
import { threadId } from "node:worker_threads";
import type { Actor, ActorContext } from "../../../../src/actors/kernel/actor.ts";

export type CounterMessage =
  | { readonly type: "add"; readonly amount: number }
  | { readonly type: "total" }
  | { readonly type: "thread" }
  | { readonly type: "tell_outlet" }
  | { readonly type: "log" }
  | { readonly type: "add_by_self" };
export type CounterReplies = { total: number; thread: number };

export function createActor(init: { start: number }, context: ActorContext): Actor<CounterMessage> {
  let total = (context.inherited as number | undefined) ?? init.start;
  return {
    receive(message, answer) {
      switch (message.type) {
        case "add":
          total += message.amount;
          return;
        case "total":
          return answer(total);
        case "thread":
          return answer(threadId);
        case "tell_outlet":
          return context.post({ type: "add", amount: 100 } as CounterMessage);
        case "log":
          return context.log.warn({ total }, "counted");
        case "add_by_self":
          return context.tellSelf({ type: "add", amount: 1 } as CounterMessage);
        default:
          return message satisfies never;
      }
    },
    handover: () => total,
  };
}
