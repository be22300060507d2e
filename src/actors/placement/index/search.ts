/**
 * The way through a tree of bounds to the best leaf: the better bound first, and nothing below a bound that is no better
 * than the best leaf so far. Makes no garbage: one search uses what the one before it used.
 */
import type { Demand } from "../candidates.ts";
import { NO_SLOT } from "../ledger/account.ts";
import {
  type BoundRows,
  CPU,
  CPU_PROMISABLE,
  CPU_ROOM,
  FIRSTS_WIDTH,
  MEMORY,
  MEMORY_PROMISABLE,
  MEMORY_ROOM,
  ROOT,
  WEIGHT,
  WIDTH,
} from "./bound-rows.ts";
import type { Slots } from "./slots.ts";

/**
 * The weight of no demand plus what a demand adds, computed so, exceeds what is computed with the demand by four
 * roundings at most, each within one part in 2^53.
 */
const MARGIN = 1 - 2 ** -48;
/** A search holds one place more per level, and the tree of 2^32 leaves has 33. */
const DEPTH = 64;
/** No leaf is left to be looked at. */
export const NO_LEAF = -1;

export class Search {
  readonly #slots: Slots;
  #rows: BoundRows;
  readonly #weighed: boolean;
  /** What is asked in millicores and bytes. */
  readonly #asked = new Float64Array(2);
  #asksAmounts = false;
  /** Places to be looked at, the next one last, each with its bound: the weight, and who goes first of those that tie. */
  readonly #places = new Int32Array(DEPTH);
  readonly #weights = new Float64Array(DEPTH);
  readonly #firsts = new Int32Array(DEPTH);
  #depth = 0;
  #steps = 0;
  /** Infinite while none is taken. */
  readonly #bestWeight = new Float64Array(1);
  #bestSlot = NO_SLOT;

  /** Where not `weighed`, all weigh the same. */
  constructor(rows: BoundRows, slots: Slots, weighed: boolean) {
    this.#rows = rows;
    this.#slots = slots;
    this.#weighed = weighed;
  }

  /**
   * `demand` is what is asked beyond what the weights of the rows contain; null: nothing. `likely` is a leaf to be looked
   * at first, since a good one rules much out.
   */
  begin(rows: BoundRows, demand: Demand | null, likely: number): void {
    this.#rows = rows;
    this.#asked[0] = demand?.cpuMillicores ?? 0;
    this.#asked[1] = demand?.memoryBytes ?? 0;
    this.#asksAmounts = demand !== null;
    this.#steps = 0;
    this.#bestWeight[0] = Number.POSITIVE_INFINITY;
    this.#bestSlot = NO_SLOT;
    this.#depth = 0;
    this.#open(ROOT);
    this.#open(rows.leafCount + likely);
  }

  /** A leaf that goes before the best so far, if it is a candidate; `NO_LEAF` when there is none. */
  next(): number {
    const { leafCount } = this.#rows;
    while (this.#depth > 0) {
      this.#depth -= 1;
      if (!this.#goesBeforeBest(this.#depth)) continue;
      const place = this.#places[this.#depth] ?? 0;
      if (place >= leafCount) return place - leafCount;
      this.#steps += 1;
      this.#openBoth(2 * place);
    }
    return NO_LEAF;
  }

  /** What `next` gave is a candidate, and so the best so far. */
  take(): void {
    this.#bestWeight[0] = this.#weights[this.#depth] ?? 0;
    this.#bestSlot = this.#firsts[this.#depth] ?? 0;
  }

  /** Places whose children were looked at. */
  get steps(): number {
    return this.#steps;
  }

  /** The slot of the best so far; `NO_SLOT` when none was taken. */
  get bestSlot(): number {
    return this.#bestSlot;
  }

  /** Puts two siblings in order, the better one last. */
  #openBoth(left: number): void {
    const lower = this.#depth;
    this.#open(left);
    const upper = this.#depth;
    this.#open(left + 1);
    if (upper > lower && this.#depth > upper && this.#goesBefore(lower, upper)) this.#swap(lower, upper);
  }

  /** Notes a place with its bound, unless the request fits nowhere below, or goes no better than to the best so far. */
  #open(place: number): void {
    const { bounds, firsts } = this.#rows;
    const at = place * WIDTH;
    const mostWeight = this.#bestWeight[0] ?? 0;
    let weight = bounds[at + WEIGHT] ?? 0;
    let first = WEIGHT;
    if (this.#asksAmounts) {
      const askedCpu = this.#asked[0] ?? 0;
      const askedMemory = this.#asked[1] ?? 0;
      const cpuPromisable = bounds[at + CPU_PROMISABLE] ?? 1;
      const memoryPromisable = bounds[at + MEMORY_PROMISABLE] ?? 1;
      const cpu = ((bounds[at + CPU] ?? 0) + askedCpu) / cpuPromisable;
      if (cpu > 1) return;
      const memory = ((bounds[at + MEMORY] ?? 0) + askedMemory) / memoryPromisable;
      if (memory > 1) return;
      if (askedCpu > (bounds[at + CPU_ROOM] ?? 0) || askedMemory > (bounds[at + MEMORY_ROOM] ?? 0)) return;
      if (this.#weighed) {
        if (cpu > mostWeight || memory > mostWeight) return;
        const added = Math.min(askedCpu / cpuPromisable, askedMemory / memoryPromisable);
        if (added > 0) weight = (weight + added) * MARGIN;
        if (cpu > weight) {
          weight = cpu;
          first = CPU;
        }
        if (memory > weight) {
          weight = memory;
          first = MEMORY;
        }
      }
    }
    if (weight > mostWeight || weight === Number.POSITIVE_INFINITY) return;
    const depth = this.#depth++;
    this.#places[depth] = place;
    this.#weights[depth] = weight;
    this.#firsts[depth] = firsts[place * FIRSTS_WIDTH + first] ?? 0;
  }

  #goesBefore(one: number, other: number): boolean {
    const weights = (this.#weights[one] ?? 0) - (this.#weights[other] ?? 0);
    if (weights !== 0) return weights < 0;
    return this.#slots.compareTies(this.#firsts[one] ?? 0, this.#firsts[other] ?? 0) < 0;
  }

  #goesBeforeBest(at: number): boolean {
    const weight = this.#weights[at] ?? 0;
    const bestWeight = this.#bestWeight[0] ?? 0;
    if (weight !== bestWeight) return weight < bestWeight;
    const first = this.#firsts[at] ?? 0;
    return first !== this.#bestSlot && this.#slots.compareTies(first, this.#bestSlot) < 0;
  }

  #swap(lower: number, upper: number): void {
    const place = this.#places[lower] ?? 0;
    const weight = this.#weights[lower] ?? 0;
    const first = this.#firsts[lower] ?? 0;
    this.#places[lower] = this.#places[upper] ?? 0;
    this.#weights[lower] = this.#weights[upper] ?? 0;
    this.#firsts[lower] = this.#firsts[upper] ?? 0;
    this.#places[upper] = place;
    this.#weights[upper] = weight;
    this.#firsts[upper] = first;
  }
}
