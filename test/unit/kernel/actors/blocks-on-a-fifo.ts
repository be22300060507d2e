/** Reads a FIFO that nobody writes: its thread sits in the system call until the test writes a byte. */
import { closeSync, openSync, readSync } from "node:fs";
import type { Actor } from "../../../../src/actors/kernel/actor.ts";

export type BlockMessage = { readonly type: "read" };
export type BlockReplies = { read: string };

export function createActor(init: { fifo: string }): Actor<BlockMessage> {
  return {
    receive(_message, answer) {
      const buffer = Buffer.alloc(16);
      const file = openSync(init.fifo, "r");
      const bytes = readSync(file, buffer);
      closeSync(file);
      answer(buffer.toString("utf8", 0, bytes));
    },
  };
}
