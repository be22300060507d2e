/**
 * The nodes of one tier in a tree that counts candidates, for a strategy that draws: it finds the k-th in the order of
 * the slots without asking those before it. Place 1 is the root, 2k and 2k + 1 are below place k.
 *
 * A place knows how many below may be chosen for the least that is asked for, and the least and the most room that any
 * of them has, limits included. Where the request fits all, or none, that is the count. Of each amount by itself `whyNot`
 * says how much fits a node, to the whole millicore or byte, when the node changes: no rule reads two amounts. A draw
 * asks it only about parts of them. Whoever falls silent has to be touched before, since that changes a count.
 */
import type { Random } from "../../../ports/random.ts";
import {
  type Demand,
  projectedCpu,
  projectedMemory,
  promisableCpu,
  promisableMemory,
  type Rules,
  whyNot,
} from "../candidates.ts";
import { cpuRoom, memoryRoom } from "../nodes/limits.ts";
import type { Node } from "../nodes/node.ts";
import { excludedBy } from "./shapes.ts";
import type { Slots } from "./slots.ts";
import { TierFollower } from "./tier-follower.ts";
import type { TreeTerms } from "./tiered-trees.ts";

/** Of a place, side by side. */
const COUNT = 0;
const CPU_LEAST = 1;
const CPU_MOST = 2;
const MEMORY_LEAST = 3;
const MEMORY_MOST = 4;
/** How many the last request fits of `COUNT`, at the places that it did not fit as a whole. */
const FITTING = 5;
const WIDTH = 6;

/** Part of what may be promised: more than adding and subtracting amounts up to it can err by. */
const SLACK = 2 ** -48;

export interface Drawing {
  /** All that there are, by id. */
  readonly nodes: ReadonlyMap<string, Node>;
  readonly random: Random;
}

export class DrawTree extends TierFollower {
  readonly #nodes: ReadonlyMap<string, Node>;
  readonly #random: Random;
  #rows = new Float64Array(0);

  constructor(slots: Slots, terms: TreeTerms, { nodes, random }: Drawing) {
    super(slots, terms);
    this.#nodes = nodes;
    this.#random = random;
  }

  /** A candidate of the tier, each as likely as the other; undefined when there is none, and then nothing is drawn. */
  override best(demand: Demand, rules: Rules): Node | undefined {
    this.catchUp(rules);
    const excluded = excludedBy(demand, this.#nodes);
    for (const { account } of excluded) this.takeOut(account.slot);
    const drawn = this.#draw(demand, rules);
    for (const { account } of excluded) this.takeIn(account.slot, rules);
    return drawn;
  }

  #draw(demand: Demand, rules: Rules): Node | undefined {
    const count = this.#countBelow(1, demand, rules);
    if (count === 0) return undefined;
    const rows = this.#rows;
    const { capacity } = this.slots;
    let left = Math.floor(this.#random.fraction() * count);
    let place = 1;
    while (place < capacity) {
      // Counting anew on every level would cost more than a scan where loads differ from slot to slot.
      const column = this.#fitsAll(place, demand) ? COUNT : FITTING;
      place *= 2;
      const before = rows[place * WIDTH + column] ?? 0;
      if (left < before) continue;
      left -= before;
      place += 1;
    }
    return this.slots.nodes[place - capacity];
  }

  /** Candidates at or below a place, left as `FITTING` there, and wherever it had to be counted. */
  #countBelow(place: number, demand: Demand, rules: Rules): number {
    const fitting = this.#countFitting(place, demand, rules);
    this.#rows[place * WIDTH + FITTING] = fitting;
    return fitting;
  }

  #countFitting(place: number, demand: Demand, rules: Rules): number {
    const at = place * WIDTH;
    const rows = this.#rows;
    const count = rows[at + COUNT] ?? 0;
    if (count === 0) return 0;
    if ((demand.cpuMillicores ?? 0) > (rows[at + CPU_MOST] ?? 0)) return 0;
    if ((demand.memoryBytes ?? 0) > (rows[at + MEMORY_MOST] ?? 0)) return 0;
    if (this.#fitsAll(place, demand)) return count;
    if (place < this.slots.capacity) {
      return this.#countBelow(2 * place, demand, rules) + this.#countBelow(2 * place + 1, demand, rules);
    }
    const node = this.slots.nodes[place - this.slots.capacity];
    return node !== undefined && whyNot(node, demand, rules) === null ? 1 : 0;
  }

  /** Whether what is asked fits all that may be chosen below for the least. */
  #fitsAll(place: number, { cpuMillicores, memoryBytes }: Demand): boolean {
    const at = place * WIDTH;
    const rows = this.#rows;
    return (cpuMillicores ?? 0) <= (rows[at + CPU_LEAST] ?? 0) && (memoryBytes ?? 0) <= (rows[at + MEMORY_LEAST] ?? 0);
  }

  protected override lay(): void {
    const length = 2 * this.slots.capacity * WIDTH;
    if (this.#rows.length !== length) this.#rows = new Float64Array(length);
  }

  protected override mergeAll(): void {
    for (let place = this.slots.capacity - 1; place >= 1; place--) this.#merge(place);
  }

  protected override mergeUp(slot: number): void {
    for (let place = (this.slots.capacity + slot) >> 1; place >= 1; place >>= 1) this.#merge(place);
  }

  #merge(place: number): void {
    const rows = this.#rows;
    const at = place * WIDTH;
    const left = 2 * at;
    const right = left + WIDTH;
    rows[at + COUNT] = (rows[left + COUNT] ?? 0) + (rows[right + COUNT] ?? 0);
    rows[at + CPU_LEAST] = Math.min(rows[left + CPU_LEAST] ?? 0, rows[right + CPU_LEAST] ?? 0);
    rows[at + CPU_MOST] = Math.max(rows[left + CPU_MOST] ?? 0, rows[right + CPU_MOST] ?? 0);
    rows[at + MEMORY_LEAST] = Math.min(rows[left + MEMORY_LEAST] ?? 0, rows[right + MEMORY_LEAST] ?? 0);
    rows[at + MEMORY_MOST] = Math.max(rows[left + MEMORY_MOST] ?? 0, rows[right + MEMORY_MOST] ?? 0);
  }

  protected override bar(slot: number): void {
    const at = (this.slots.capacity + slot) * WIDTH;
    const rows = this.#rows;
    rows[at + COUNT] = 0;
    rows[at + CPU_LEAST] = Number.POSITIVE_INFINITY;
    rows[at + CPU_MOST] = 0;
    rows[at + MEMORY_LEAST] = Number.POSITIVE_INFINITY;
    rows[at + MEMORY_MOST] = 0;
  }

  protected override admit(slot: number, node: Node, rules: Rules): void {
    const rows = this.#rows;
    const at = (this.slots.capacity + slot) * WIDTH;
    rows[at + COUNT] = 1;
    const { config, limited } = rules;
    const cpuMost = mostRoom({
      projected: projectedCpu(node, config),
      promisable: promisableCpu(node, config),
      withinLimits: limited ? cpuRoom(node, config.nodeResourceLimit) : Number.POSITIVE_INFINITY,
    });
    const memoryMost = mostRoom({
      projected: projectedMemory(node, config),
      promisable: promisableMemory(node, config),
      withinLimits: limited ? memoryRoom(node, config.nodeResourceLimit) : Number.POSITIVE_INFINITY,
    });
    const { least, anyAmounts } = this.terms;
    const asksCpu = anyAmounts && least.cpuMillicores !== null;
    const asksMemory = anyAmounts && least.memoryBytes !== null;
    const fits = (amount: Partial<Demand>): boolean => whyNot(node, { ...least, ...amount }, rules) === null;
    this.#setRoom(at + CPU_LEAST, asksCpu ? roomOf(cpuMost, (cpuMillicores) => fits({ cpuMillicores })) : ENDLESS);
    this.#setRoom(at + MEMORY_LEAST, asksMemory ? roomOf(memoryMost, (memoryBytes) => fits({ memoryBytes })) : ENDLESS);
  }

  /** `leastAt` is where the least of the amount is kept, with the most beside it. */
  #setRoom(leastAt: number, { least, most }: Room): void {
    this.#rows[leastAt] = least;
    this.#rows[leastAt + 1] = most;
  }
}

interface Room {
  /** Whatever asks for no more fits. */
  readonly least: number;
  /** Whatever asks for more does not fit. */
  readonly most: number;
}

/** The least is no question of room: `whyNot` has just answered it. */
const ENDLESS: Room = { least: Number.POSITIVE_INFINITY, most: Number.POSITIVE_INFINITY };

/**
 * Requests ask for whole amounts, so none falls between least and most, but where both are too great (2^46) to tell one
 * whole amount from the next. `most` may be a little too much; who fits with an amount fits with less.
 */
function roomOf(most: number, fits: (amount: number) => boolean): Room {
  if (most === Number.POSITIVE_INFINITY) return ENDLESS;
  const whole = Math.max(0, Math.floor(most));
  if (fits(whole)) return { least: whole, most };
  const lesser = Math.max(0, whole - 1);
  return { least: fits(lesser) ? lesser : Number.NEGATIVE_INFINITY, most: justBelow(whole) };
}

/** The greatest double below a positive one. */
function justBelow(amount: number): number {
  return amount * (1 - Number.EPSILON / 2);
}

/** Whatever asks for more does not fit. */
function mostRoom(bound: {
  readonly projected: number;
  readonly promisable: number | null;
  readonly withinLimits: number;
}): number {
  const { projected, promisable, withinLimits } = bound;
  if (promisable === null) return withinLimits;
  return Math.min(withinLimits, promisable - projected + promisable * SLACK);
}
