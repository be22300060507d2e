/** Ends the thread that it lives in, as a native crash of a worker would. */
import type { Actor } from "../../../../src/actors/kernel/actor.ts";
import type { Message } from "../../../../src/actors/kernel/message.ts";

export function createActor(): Actor<Message> {
  return {
    receive(message) {
      if (message.type === "exit") process.exit(7);
      // "hang" is never answered.
    },
  };
}
