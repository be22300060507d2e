/** Counts its messages in one life, and throws when told to. */
import type { Actor } from "../../../../src/actors/kernel/actor.ts";

export type BoomMessage = { readonly type: "boom" } | { readonly type: "count" };
export type BoomReplies = { boom: null; count: number };

export function createActor(): Actor<BoomMessage> {
  let count = 0;
  return {
    receive(message, answer) {
      if (message.type === "boom") throw new Error("boom, as told");
      answer(++count);
    },
  };
}
