/** Passes on what it is asked to the actor that it knows as `other`; `add_ones` tells it to add 1 so often in one turn. */
import type { Actor, ActorContext } from "../../../../src/actors/kernel/actor.ts";
import type { Outcome } from "../../../../src/actors/kernel/outcome.ts";
import type { CounterMessage, CounterReplies } from "./counter.ts";

export type AskingMessage =
  | { readonly type: "ask_total" }
  | { readonly type: "add"; readonly amount: number }
  | { readonly type: "add_ones"; readonly count: number }
  | { readonly type: "exit" }
  | { readonly type: "know_nobody" };
export type AskingReplies = { ask_total: Outcome<number> };

export function createActor(_init: null, { reference }: ActorContext): Actor<AskingMessage> {
  const other = reference<CounterMessage, CounterReplies>("other");
  return {
    receive(message, answer) {
      switch (message.type) {
        case "ask_total":
          other.ask({ type: "total" }, { deadlineMs: 20_000 }).then(answer);
          return;
        case "add":
          other.tell(message);
          return;
        case "add_ones":
          for (let time = 0; time < message.count; time++) other.tell({ type: "add", amount: 1 });
          return;
        case "exit":
          return process.exit(7);
        case "know_nobody":
          reference("nobody");
          return;
        default:
          return message satisfies never;
      }
    },
    stopped: () => void other.tell({ type: "add", amount: 1_000 }),
  };
}
