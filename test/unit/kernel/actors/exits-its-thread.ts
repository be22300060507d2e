/** Ends the thread that it lives in, as a native crash of a worker would. */
import type { Actor, Message } from "../../../../src/actors/kernel/actor.ts";

export function createActor(): Actor<Message> {
  return {
    receive(message) {
      if (message.type === "exit") process.exit(7);
      // "hang" is never answered.
    },
  };
}
