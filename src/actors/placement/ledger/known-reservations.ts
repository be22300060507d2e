/**
 * Every reservation that is known, by the number in its id: pages of an array, in the order in which they were made.
 *
 * A map from id to reservation hashes each id and grows with what it remembers; that cost more than choosing the node.
 * Numbers rise, so the newest are always together on the last page, and a page goes when its last one is forgotten.
 */

import { NO_NUMBER, numberOf } from "./names.ts";
import type { Reservation } from "./reservation.ts";

/** Small enough that one reservation that lives for days keeps little with it. */
const PAGE_SIZE = 256;

interface Page {
  readonly entries: (Reservation | undefined)[];
  known: number;
}

export class KnownReservations {
  readonly #pages = new Map<number, Page>();
  /** The page that was asked for last; most calls are about what was just made. */
  #recent: { readonly number: number; readonly page: Page } | null = null;
  #size = 0;
  #newestNumber = NO_NUMBER;

  /** The greatest number that was ever added; `NO_NUMBER` before the first. */
  get newestNumber(): number {
    return this.#newestNumber;
  }

  get size(): number {
    return this.#size;
  }

  /** The one with this number in its id and token, both of which are for the caller to compare. Undefined: none. */
  numbered(number: number): Reservation | undefined {
    return this.#pageOf(number)?.entries[number % PAGE_SIZE];
  }

  /** By public id. */
  get(id: string): Reservation | undefined {
    const reservation = this.numbered(numberOf(id));
    return reservation?.terms.id === id ? reservation : undefined;
  }

  /** Throws on an id without a number, and on a number that is taken. */
  add(reservation: Reservation): void {
    const { id } = reservation.terms;
    const number = numberOf(id);
    if (number === NO_NUMBER) throw new Error(`${id} is no id of a reservation`);
    const page = this.#pageOf(number) ?? this.#newPage(Math.floor(number / PAGE_SIZE));
    if (page.entries[number % PAGE_SIZE] !== undefined) throw new Error(`${id}: its number is taken`);
    page.entries[number % PAGE_SIZE] = reservation;
    page.known += 1;
    this.#size += 1;
    if (number > this.#newestNumber) this.#newestNumber = number;
  }

  delete(reservation: Reservation): void {
    const number = numberOf(reservation.terms.id);
    const page = this.#pageOf(number);
    if (page === undefined || page.entries[number % PAGE_SIZE] !== reservation) return;
    page.entries[number % PAGE_SIZE] = undefined;
    page.known -= 1;
    this.#size -= 1;
    if (page.known > 0) return;
    this.#pages.delete(Math.floor(number / PAGE_SIZE));
    this.#recent = null;
  }

  /** In the order in which they were made. */
  *values(): Generator<Reservation> {
    for (const { entries } of this.#pages.values()) {
      for (const reservation of entries) if (reservation !== undefined) yield reservation;
    }
  }

  #pageOf(number: number): Page | undefined {
    const pageNumber = Math.floor(number / PAGE_SIZE);
    if (this.#recent?.number === pageNumber) return this.#recent.page;
    const page = this.#pages.get(pageNumber);
    if (page !== undefined) this.#recent = { number: pageNumber, page };
    return page;
  }

  #newPage(number: number): Page {
    const page: Page = { entries: new Array<Reservation | undefined>(PAGE_SIZE).fill(undefined), known: 0 };
    this.#pages.set(number, page);
    this.#recent = { number, page };
    return page;
  }
}
