/**
 * Every reservation that is known, by the number in its id: pages of an array, in the order in which they were made.
 *
 * A map from id to reservation hashes each id and grows with what it remembers; that cost more than choosing the node.
 * Numbers rise, so the newest are always together on the last page, and a page goes when its last one is forgotten.
 *
 * A log may hold reservations that were named otherwise, or by another scheduler that gave out the same numbers. Those
 * few are kept in maps.
 */
import { isSameToken, NO_NUMBER, numberOf } from "./names.ts";
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
  /** Those without a number of their own, by id and by token. */
  readonly #others = new Map<string, Reservation>();
  readonly #othersByToken = new Map<string, Reservation>();
  #size = 0;
  #newestNumber = NO_NUMBER;

  /** The greatest number that was ever added; `NO_NUMBER` before the first. */
  get newestNumber(): number {
    return this.#newestNumber;
  }

  get size(): number {
    return this.#size;
  }

  /** By public id. */
  get(id: string): Reservation | undefined {
    const reservation = this.#numbered(numberOf(id));
    return reservation?.terms.id === id ? reservation : this.#others.get(id);
  }

  /** By token, all of it. */
  holding(token: string): Reservation | undefined {
    const reservation = this.#numbered(numberOf(token));
    const held = reservation?.terms.token ?? null;
    return held !== null && isSameToken(held, token) ? reservation : this.#othersByToken.get(token);
  }

  /** Throws when one of this id is known. */
  add(reservation: Reservation): void {
    const { id } = reservation.terms;
    const number = numberOf(id);
    const page = number === NO_NUMBER ? null : (this.#pageOf(number) ?? this.#newPage(Math.floor(number / PAGE_SIZE)));
    if (page === null || page.entries[number % PAGE_SIZE] !== undefined) this.#addOther(reservation);
    else {
      page.entries[number % PAGE_SIZE] = reservation;
      page.known += 1;
    }
    this.#size += 1;
    if (number > this.#newestNumber) this.#newestNumber = number;
  }

  delete(reservation: Reservation): void {
    const { id, token } = reservation.terms;
    const number = numberOf(id);
    const page = this.#pageOf(number);
    if (page === undefined || page.entries[number % PAGE_SIZE] !== reservation) {
      if (this.#others.delete(id)) this.#size -= 1;
      if (token !== null) this.#othersByToken.delete(token);
      return;
    }
    page.entries[number % PAGE_SIZE] = undefined;
    page.known -= 1;
    this.#size -= 1;
    if (page.known > 0) return;
    this.#pages.delete(Math.floor(number / PAGE_SIZE));
    this.#recent = null;
  }

  /** In the order in which they were made. */
  values(): Iterable<Reservation> {
    if (this.#others.size === 0) return this.#numberedOnes();
    const all = [...this.#others.values(), ...this.#numberedOnes()];
    return all.sort((left, right) => left.position - right.position);
  }

  *#numberedOnes(): Generator<Reservation> {
    for (const { entries } of this.#pages.values()) {
      for (const reservation of entries) if (reservation !== undefined) yield reservation;
    }
  }

  #addOther(reservation: Reservation): void {
    const { id, token } = reservation.terms;
    if (this.get(id) !== undefined) throw new Error(`${id} is known already`);
    this.#others.set(id, reservation);
    if (token !== null) this.#othersByToken.set(token, reservation);
  }

  #numbered(number: number): Reservation | undefined {
    return this.#pageOf(number)?.entries[number % PAGE_SIZE];
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
