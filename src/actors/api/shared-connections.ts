/**
 * The one exception to the rule that nothing mutable is shared: the counts of connections lie in memory that all API
 * threads see. Whether a connection is one too many has to be known when it comes, before a message could ask.
 */
import type { Server } from "node:http";

export interface Share {
  /** Connections of each thread, in memory that all of them see (`SharedArrayBuffer`). */
  readonly counts: Int32Array;
  /** Which of the counts is this thread's; nobody else writes it. */
  readonly own: number;
  /** In all threads together. */
  readonly connectionsMax: number;
}

/** Bounds the connections of servers in several threads as if they were one server's. */
export class SharedConnections {
  readonly #share: Share;
  #released = false;

  constructor(share: Share) {
    this.#share = share;
    // Those of a thread that died ended with it.
    Atomics.store(share.counts, share.own, 0);
  }

  /** Counts the connections of a server from now on, and closes those beyond the bound as they come. */
  watch(server: Server): void {
    const { counts, own } = this.#share;
    server.on("connection", (socket) => {
      // Counted before it is looked at: of two threads that count at a time, the later sees both.
      Atomics.add(counts, own, 1);
      socket.once("close", () => {
        if (!this.#released) Atomics.sub(counts, own, 1);
      });
      // When the server has taken it up, so that it is let go like any that its client ends; nothing is read before.
      if (this.#isOver()) process.nextTick(() => socket.destroy());
    });
  }

  /** Leaves the count to a next one; connections that are still open are about to be closed, and count no more. */
  release(): void {
    this.#released = true;
    Atomics.store(this.#share.counts, this.#share.own, 0);
  }

  #isOver(): boolean {
    const { counts, connectionsMax } = this.#share;
    let all = 0;
    for (let thread = 0; thread < counts.length; thread++) all += Atomics.load(counts, thread);
    return all > connectionsMax;
  }
}
