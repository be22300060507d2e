import type { Lane, Message } from "./message.ts";

/** A message on its way, with the place where its answer goes; `answer` is null for one that was told. */
export interface Envelope {
  readonly message: Message;
  readonly answer: ((value: unknown) => void) | null;
  /** Tells the asker that no answer will come. */
  readonly fail: ((code: "actor_dead" | "failed", reason: string) => void) | null;
}

/**
 * A first-in-first-out queue: an array with a moving head, compacted when half of it is spent, so that both ends cost
 * O(1) amortised.
 */
class Queue {
  #items: (Envelope | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(envelope: Envelope): void {
    this.#items.push(envelope);
  }

  shift(): Envelope | undefined {
    const envelope = this.#items[this.#head];
    if (envelope === undefined) return undefined;
    this.#items[this.#head] = undefined;
    this.#head++;
    if (this.#head > 64 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return envelope;
  }
}

/**
 * The bounded queue in front of an actor. A full lane refuses. The urgent lane has the same bound again for itself:
 * were it shared, a flood of normal messages would shut the urgent ones out.
 */
export class Mailbox {
  readonly capacity: number;
  #lanes = { urgent: new Queue(), normal: new Queue() };

  constructor(capacity: number) {
    if (!Number.isSafeInteger(capacity) || capacity < 1)
      throw new RangeError(`mailbox capacity ${capacity} is not ≥ 1`);
    this.capacity = capacity;
  }

  get length(): number {
    return this.#lanes.urgent.length + this.#lanes.normal.length;
  }

  /**
   * False when the lane is full; then nothing was queued. `taken` messages that left the mailbox but are not handled
   * yet (on their way to a thread) count as normal ones.
   */
  push(envelope: Envelope, lane: Lane, taken = 0): boolean {
    const queue = this.#lanes[lane];
    if (queue.length + (lane === "normal" ? taken : 0) >= this.capacity) return false;
    queue.push(envelope);
    return true;
  }

  shift(): Envelope | undefined {
    return this.#lanes.urgent.shift() ?? this.#lanes.normal.shift();
  }

  /** Takes everything that is waiting, in order. */
  clear(): Envelope[] {
    const waiting: Envelope[] = [];
    for (let envelope = this.shift(); envelope !== undefined; envelope = this.shift()) waiting.push(envelope);
    return waiting;
  }
}
