/**
 * The leases that run, nearest end first: a binary heap in which each reservation knows its slot, so that a renewal
 * moves one entry and leaves no stale one behind.
 */
import type { Reservation } from "./reservation.ts";

export class Leases {
  readonly #heap: Reservation[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** The one whose lease ends first; undefined when none runs. */
  peek(): Reservation | undefined {
    return this.#heap[0];
  }

  /** Adds it, or moves it to where its present `leaseEndMs` belongs. */
  put(reservation: Reservation): void {
    if (reservation.leaseSlot < 0) {
      reservation.leaseSlot = this.#heap.length;
      this.#heap.push(reservation);
    }
    this.#sink(this.#rise(reservation.leaseSlot));
  }

  /** Takes it out; does nothing when it is not in. */
  remove(reservation: Reservation): void {
    const slot = reservation.leaseSlot;
    if (slot < 0) return;
    reservation.leaseSlot = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === reservation) return;
    this.#place(last, slot);
    this.#sink(this.#rise(slot));
  }

  #place(reservation: Reservation, slot: number): void {
    this.#heap[slot] = reservation;
    reservation.leaseSlot = slot;
  }

  /** Equal ends leave in the order in which they were made, so that replays and models agree. */
  #before(left: Reservation, right: Reservation): boolean {
    if (left.leaseEndMs !== right.leaseEndMs) return left.leaseEndMs < right.leaseEndMs;
    return left.position < right.position;
  }

  #rise(start: number): number {
    let slot = start;
    const moving = this.#heap[slot];
    if (moving === undefined) return slot;
    while (slot > 0) {
      const parentSlot = (slot - 1) >> 1;
      const parent = this.#heap[parentSlot];
      if (parent === undefined || !this.#before(moving, parent)) break;
      this.#place(parent, slot);
      slot = parentSlot;
    }
    this.#place(moving, slot);
    return slot;
  }

  #sink(start: number): void {
    let slot = start;
    const moving = this.#heap[slot];
    if (moving === undefined) return;
    for (;;) {
      const leftSlot = 2 * slot + 1;
      const left = this.#heap[leftSlot];
      if (left === undefined) break;
      const right = this.#heap[leftSlot + 1];
      const nearer = right !== undefined && this.#before(right, left) ? right : left;
      if (!this.#before(nearer, moving)) break;
      const nearerSlot = nearer.leaseSlot;
      this.#place(nearer, slot);
      slot = nearerSlot;
    }
    this.#place(moving, slot);
  }
}
