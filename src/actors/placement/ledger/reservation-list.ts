/**
 * Reservations in the order in which they came, each of which knows its neighbours: adding and taking out cost a few
 * writes and allocate nothing, where a set hashes each of them and grows a table. A reservation is in one list at a
 * time: its node's pending or confirmed ones, or those that have ended.
 *
 * Whoever changes reservations while walking through a list copies it first.
 */
import type { Reservation } from "./reservation.ts";

export class ReservationList implements Iterable<Reservation> {
  #first: Reservation | null = null;
  #last: Reservation | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds it behind all others. It must be in no list. */
  append(reservation: Reservation): void {
    if (reservation.list !== null) throw new Error(`${reservation.terms.id} is in a list already`);
    const last = this.#last;
    reservation.list = this;
    reservation.previous = last;
    if (last === null) this.#first = reservation;
    else last.next = reservation;
    this.#last = reservation;
    this.#size += 1;
  }

  /** Takes it out. It must be in this list. */
  remove(reservation: Reservation): void {
    if (reservation.list !== this) throw new Error(`${reservation.terms.id} is not in this list`);
    const { previous, next } = reservation;
    if (previous === null) this.#first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    reservation.list = null;
    reservation.previous = null;
    reservation.next = null;
    this.#size -= 1;
  }

  *[Symbol.iterator](): Iterator<Reservation> {
    for (let reservation = this.#first; reservation !== null; reservation = reservation.next) yield reservation;
  }
}
