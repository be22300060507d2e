/** Handles everything, and throws when it is to commit what it was told to spoil. */
import type { Actor } from "../../../../src/actors/kernel/actor.ts";

export type SpoilMessage = { readonly type: "spoil" } | { readonly type: "count" };
export type SpoilReplies = { count: number };

export function createActor(): Actor<SpoilMessage> {
  let count = 0;
  let spoilt = false;
  return {
    receive(message, answer) {
      if (message.type === "spoil") spoilt = true;
      else answer(++count);
    },
    drained() {
      if (!spoilt) return;
      spoilt = false;
      throw new Error("cannot commit");
    },
  };
}
