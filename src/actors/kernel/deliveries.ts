/** One outcome on its way to whoever asked. */
export interface Delivery {
  deliver(): void;
}

/**
 * Hands outcomes over when the turn in which they came is through. What an asker makes of its answer is no part of the turn
 * of the actor that gave it, and one that throws keeps nothing from the others: it ends the thread, as an unhandled
 * rejection would, and the main thread ends with the program. One microtask serves all of a turn.
 */
export class Deliveries {
  #waiting: Delivery[] = [];

  add(delivery: Delivery): void {
    if (this.#waiting.length === 0) queueMicrotask(() => this.#deliver());
    this.#waiting.push(delivery);
  }

  #deliver(): void {
    const due = this.#waiting;
    this.#waiting = [];
    for (const delivery of due) {
      try {
        delivery.deliver();
      } catch (thrown) {
        queueMicrotask(() => {
          throw thrown;
        });
      }
    }
  }
}
