/**
 * A binary tree of bounds in flat arrays. The row of a place says what a request has to expect at best on any node
 * below: the least that is promised there, the most that may be. `ROOT` is place 1, 2k and 2k + 1 are below place k,
 * siblings lie side by side, and the places of the leaves come last, in their order, from `leafCount` on.
 *
 * Amounts are kept as they are, not as quotients. Rounding is monotone, so that the least amount plus a demand, over the
 * greatest promisable amount, is never above what is computed for any one of the nodes, and the very same where they are
 * alike. So this bound needs no margin, and tells where nodes tie.
 *
 * For that a row names, of the nodes with the least amount, the one that goes first among equals. Adding and dividing
 * may round two amounts to one quotient that are within some 2^-51 of each other; within `SLACK` all count as least.
 */
import type { Slots } from "./slots.ts";

/** Columns of a row. */
export const CPU = 0;
export const MEMORY = 1;
/** The pressure of a request that asks for no amount. */
export const WEIGHT = 2;
export const CPU_PROMISABLE = 3;
export const MEMORY_PROMISABLE = 4;
/** From an amount to what may be promised of it. */
const PROMISABLE = CPU_PROMISABLE - CPU;
/** The most that the limits leave to any. */
export const CPU_ROOM = 5;
export const MEMORY_ROOM = 6;
/** From a row to the next: the seven columns, and one unused so that a row is as long as a cache line, 64 bytes. */
export const WIDTH = 8;

/** From the firsts of a row, by slot, to those of the next: `CPU`, `MEMORY` and `WEIGHT`, and one unused. */
export const FIRSTS_WIDTH = 4;

/** The place above all others. */
export const ROOT = 1;

/** Part of an amount and of what may be promised beside it; a demand that fits makes the sum no greater. */
const SLACK = 2 ** -48;

export class BoundRows {
  readonly leafCount: number;
  readonly bounds: Float64Array;
  readonly firsts: Int32Array;
  readonly #slots: Slots;
  readonly #byAmounts: boolean;

  /** `leafCount` is a power of two. Where bounds `byAmounts` are not asked for, places but leaves have none. */
  constructor(leafCount: number, slots: Slots, byAmounts: boolean) {
    this.leafCount = leafCount;
    this.bounds = new Float64Array(2 * leafCount * WIDTH);
    this.firsts = new Int32Array(2 * leafCount * FIRSTS_WIDTH);
    this.#slots = slots;
    this.#byAmounts = byAmounts;
  }

  /** Gives the place of a leaf to a slot. */
  assign(place: number, slot: number): void {
    const at = place * FIRSTS_WIDTH;
    for (const column of [CPU, MEMORY, WEIGHT]) this.firsts[at + column] = slot;
  }

  /** What is at this place, a leaf's, is not to be chosen. */
  bar(place: number): void {
    const { bounds } = this;
    const at = place * WIDTH;
    bounds[at + CPU] = Number.POSITIVE_INFINITY;
    bounds[at + MEMORY] = Number.POSITIVE_INFINITY;
    bounds[at + WEIGHT] = Number.POSITIVE_INFINITY;
    bounds[at + CPU_PROMISABLE] = 0;
    bounds[at + MEMORY_PROMISABLE] = 0;
    bounds[at + CPU_ROOM] = 0;
    bounds[at + MEMORY_ROOM] = 0;
  }

  mergeAll(): void {
    for (let place = this.leafCount - 1; place >= ROOT; place--) {
      this.#mergeWeight(place);
      if (!this.#byAmounts) continue;
      this.#mergeAmount(place, CPU);
      this.#mergeAmount(place, MEMORY);
      this.#mergeMost(place, CPU_ROOM);
      this.#mergeMost(place, MEMORY_ROOM);
    }
  }

  /**
   * After the row of the leaf of this slot has changed, which is at `leafPlace`. Each column ends where nothing changes:
   * soon, but for a node that is first. Where it is named as before, its turn and counts may be others.
   */
  mergeUp(leafPlace: number, slot: number): void {
    const { firsts } = this;
    for (let place = leafPlace >> 1; place >= ROOT; place >>= 1) {
      if (!this.#mergeWeight(place) && firsts[place * FIRSTS_WIDTH + WEIGHT] !== slot) break;
    }
    if (!this.#byAmounts) return;
    for (let place = leafPlace >> 1; place >= ROOT; place >>= 1) {
      if (!this.#mergeAmount(place, CPU) && firsts[place * FIRSTS_WIDTH + CPU] !== slot) break;
    }
    for (let place = leafPlace >> 1; place >= ROOT; place >>= 1) {
      if (!this.#mergeAmount(place, MEMORY) && firsts[place * FIRSTS_WIDTH + MEMORY] !== slot) break;
    }
    for (let place = leafPlace >> 1; place >= ROOT; place >>= 1) if (!this.#mergeMost(place, CPU_ROOM)) break;
    for (let place = leafPlace >> 1; place >= ROOT; place >>= 1) if (!this.#mergeMost(place, MEMORY_ROOM)) break;
  }

  /** Whether the most is another than before. */
  #mergeMost(place: number, column: number): boolean {
    const { bounds } = this;
    const at = place * WIDTH + column;
    const below = 2 * place * WIDTH + column;
    const most = Math.max(bounds[below] ?? 0, bounds[below + WIDTH] ?? 0);
    if (bounds[at] === most) return false;
    bounds[at] = most;
    return true;
  }

  /** Whether the least, what may be promised beside it, or who is named is another than before. */
  #mergeAmount(place: number, column: typeof CPU | typeof MEMORY): boolean {
    const { bounds, firsts } = this;
    // More to be promised makes the slack wider.
    const widened = this.#mergeMost(place, column + PROMISABLE);
    const at = place * WIDTH + column;
    const below = 2 * place * WIDTH + column;
    const left = bounds[below] ?? 0;
    const right = bounds[below + WIDTH] ?? 0;
    const least = Math.min(left, right);
    const named = place * FIRSTS_WIDTH + column;
    const namedBelow = 2 * place * FIRSTS_WIDTH + column;
    const leftFirst = firsts[namedBelow] ?? 0;
    const rightFirst = firsts[namedBelow + FIRSTS_WIDTH] ?? 0;
    const slack = (least + (bounds[at + PROMISABLE] ?? 0)) * SLACK;
    const mayTie = Math.abs(left - right) <= slack;
    const isLeft = mayTie ? this.#slots.compareTies(leftFirst, rightFirst) < 0 : left < right;
    const first = isLeft ? leftFirst : rightFirst;
    if (!widened && bounds[at] === least && firsts[named] === first) return false;
    bounds[at] = least;
    firsts[named] = first;
    return true;
  }

  #mergeWeight(place: number): boolean {
    const { bounds, firsts } = this;
    const at = place * WIDTH + WEIGHT;
    const below = 2 * place * WIDTH + WEIGHT;
    const left = bounds[below] ?? 0;
    const right = bounds[below + WIDTH] ?? 0;
    const named = place * FIRSTS_WIDTH + WEIGHT;
    const namedBelow = 2 * place * FIRSTS_WIDTH + WEIGHT;
    const leftFirst = firsts[namedBelow] ?? 0;
    const rightFirst = firsts[namedBelow + FIRSTS_WIDTH] ?? 0;
    const isLeft = left === right ? this.#slots.compareTies(leftFirst, rightFirst) < 0 : left < right;
    const least = isLeft ? left : right;
    const first = isLeft ? leftFirst : rightFirst;
    if (bounds[at] === least && firsts[named] === first) return false;
    bounds[at] = least;
    firsts[named] = first;
    return true;
  }
}
