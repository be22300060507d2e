/**
 * What happens when, in virtual time: a binary heap by time. Things due at the same time come out in the order in which
 * they were put in, so that a run depends on nothing but its input.
 */
export class EventQueue<Event> {
  readonly #heap: Entry<Event>[] = [];
  #pushed = 0;

  get size(): number {
    return this.#heap.length;
  }

  push(atMs: number, event: Event): void {
    const entry = { atMs, turn: this.#pushed++, event };
    let position = this.#heap.length;
    while (position > 0) {
      const parent = (position - 1) >> 1;
      const above = this.#heap[parent];
      if (above === undefined || isBefore(above, entry)) break;
      this.#heap[position] = above;
      position = parent;
    }
    this.#heap[position] = entry;
  }

  /** The earliest; undefined when there is none. */
  pop(): { readonly atMs: number; readonly event: Event } | undefined {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) this.#sink(last);
    return first;
  }

  /** Puts an entry in at the root and lets it down to its place. */
  #sink(entry: Entry<Event>): void {
    let position = 0;
    for (;;) {
      const left = 2 * position + 1;
      const [leftChild, rightChild] = [this.#heap[left], this.#heap[left + 1]];
      if (leftChild === undefined) break;
      const goesRight = rightChild !== undefined && isBefore(rightChild, leftChild);
      const child = goesRight ? rightChild : leftChild;
      if (isBefore(entry, child)) break;
      this.#heap[position] = child;
      position = goesRight ? left + 1 : left;
    }
    this.#heap[position] = entry;
  }
}

interface Entry<Event> {
  readonly atMs: number;
  readonly turn: number;
  readonly event: Event;
}

function isBefore(left: Entry<unknown>, right: Entry<unknown>): boolean {
  return left.atMs < right.atMs || (left.atMs === right.atMs && left.turn < right.turn);
}
