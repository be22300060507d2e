/**
 * A binary tree of bounds in flat arrays. The row of a place says what a request has to expect at best on any node
 * below: the least that is promised there, the most that may be. Place 1 is the root, 2k and 2k + 1 are below place k,
 * and siblings lie side by side.
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
/** The most that the limits leave to any. */
export const CPU_ROOM = 5;
export const MEMORY_ROOM = 6;
export const WIDTH = 8;

/** Columns of which a row names the first, by slot. */
export const FIRSTS = 4;

/** Part of an amount and of what may be promised beside it; a demand that fits makes the sum no greater. */
const SLACK = 2 ** -48;

export class BoundRows {
  readonly leaves: number;
  readonly bounds: Float64Array;
  readonly firsts: Int32Array;
  readonly #slots: Slots;

  /** `leaves` is a power of two. */
  constructor(leaves: number, slots: Slots) {
    this.leaves = leaves;
    this.bounds = new Float64Array(2 * leaves * WIDTH);
    this.firsts = new Int32Array(2 * leaves * FIRSTS);
    this.#slots = slots;
  }

  /** The leaf's node, whose slot this is, is not to be chosen. */
  bar(leaf: number, slot: number): void {
    const { bounds, firsts } = this;
    firsts.fill(slot, leaf * FIRSTS, (leaf + 1) * FIRSTS);
    const at = leaf * WIDTH;
    bounds.fill(0, at, at + WIDTH);
    bounds[at + CPU] = Number.POSITIVE_INFINITY;
    bounds[at + MEMORY] = Number.POSITIVE_INFINITY;
    bounds[at + WEIGHT] = Number.POSITIVE_INFINITY;
  }

  mergeAll(): void {
    for (let place = this.leaves - 1; place >= 1; place--) {
      for (let column = CPU_PROMISABLE; column <= MEMORY_ROOM; column++) this.#mergeMost(place, column);
      this.#mergeLeast(place, CPU, CPU_PROMISABLE);
      this.#mergeLeast(place, MEMORY, MEMORY_PROMISABLE);
      this.#mergeWeight(place);
    }
  }

  /** After the row of a leaf has changed. Each column ends where nothing changes: soon, but for a node that is first. */
  mergeUp(leaf: number, slot: number): void {
    this.mergeWeightUp(leaf, slot);
    for (let column = CPU_PROMISABLE; column <= MEMORY_ROOM; column++) {
      for (let place = leaf >> 1; place >= 1; place >>= 1) if (!this.#mergeMost(place, column)) break;
    }
    // What was the same slot before may have other figures now.
    for (let place = leaf >> 1; place >= 1; place >>= 1) {
      if (!this.#mergeLeast(place, CPU, CPU_PROMISABLE) && this.firsts[place * FIRSTS + CPU] !== slot) break;
    }
    for (let place = leaf >> 1; place >= 1; place >>= 1) {
      if (!this.#mergeLeast(place, MEMORY, MEMORY_PROMISABLE) && this.firsts[place * FIRSTS + MEMORY] !== slot) break;
    }
  }

  mergeWeightUp(leaf: number, slot: number): void {
    for (let place = leaf >> 1; place >= 1; place >>= 1) {
      if (!this.#mergeWeight(place) && this.firsts[place * FIRSTS + WEIGHT] !== slot) break;
    }
  }

  #mergeMost(place: number, column: number): boolean {
    const { bounds } = this;
    const at = place * WIDTH;
    const left = bounds[2 * at + column] ?? 0;
    const right = bounds[2 * at + WIDTH + column] ?? 0;
    const most = Math.max(left, right);
    if (bounds[at + column] === most) return false;
    bounds[at + column] = most;
    return true;
  }

  #mergeLeast(place: number, column: number, promisable: number): boolean {
    const { bounds, firsts } = this;
    const at = place * WIDTH;
    const left = bounds[2 * at + column] ?? 0;
    const right = bounds[2 * at + WIDTH + column] ?? 0;
    const least = Math.min(left, right);
    const slack = (least + (bounds[at + promisable] ?? 0)) * SLACK;
    const named = place * FIRSTS + column;
    const leftFirst = firsts[named + place * FIRSTS] ?? 0;
    const rightFirst = firsts[named + place * FIRSTS + FIRSTS] ?? 0;
    const apart = left - right;
    const first =
      apart > slack
        ? rightFirst
        : apart < -slack
          ? leftFirst
          : this.#slots.compareTies(leftFirst, rightFirst) < 0
            ? leftFirst
            : rightFirst;
    if (bounds[at + column] === least && firsts[named] === first) return false;
    bounds[at + column] = least;
    firsts[named] = first;
    return true;
  }

  #mergeWeight(place: number): boolean {
    const { bounds, firsts } = this;
    const at = place * WIDTH + WEIGHT;
    const below = 2 * place * WIDTH + WEIGHT;
    const left = bounds[below] ?? 0;
    const right = bounds[below + WIDTH] ?? 0;
    const named = place * FIRSTS + WEIGHT;
    const leftFirst = firsts[2 * place * FIRSTS + WEIGHT] ?? 0;
    const rightFirst = firsts[2 * place * FIRSTS + FIRSTS + WEIGHT] ?? 0;
    const least = Math.min(left, right);
    const first =
      left !== right
        ? left < right
          ? leftFirst
          : rightFirst
        : this.#slots.compareTies(leftFirst, rightFirst) < 0
          ? leftFirst
          : rightFirst;
    if (bounds[at] === least && firsts[named] === first) return false;
    bounds[at] = least;
    firsts[named] = first;
    return true;
  }
}
