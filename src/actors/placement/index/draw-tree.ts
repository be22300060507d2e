/**
 * The nodes of one tier in a tree that counts candidates, for a strategy that draws: it finds the k-th in the order of
 * the slots without asking those before it. Place 1 is the root, 2k and 2k + 1 are below place k.
 *
 * A place knows how many below may be chosen for the least that is asked for, and the least and the most room that any
 * of them has. Where the request fits all, or none, that is the count; `whyNot` decides on a node by itself. Silence is
 * taken in before a draw, since it changes a count without a touch.
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
import { isNeverHeard, silentSince } from "../nodes/lifecycle.ts";
import { cpuRoom, memoryRoom } from "../nodes/limits.ts";
import { leadingPart, type Node } from "../nodes/node.ts";
import type { Slots } from "./slots.ts";
import { TierFollower } from "./tier-follower.ts";
import type { TreeTerms } from "./tiered-trees.ts";

/** Of a place, side by side. */
const COUNT = 0;
const CPU_LEAST = 1;
const CPU_MOST = 2;
const MEMORY_LEAST = 3;
const MEMORY_MOST = 4;
/** Since when the one that spoke least lately is silent; infinite where none has to speak. */
const SILENT_SINCE = 5;
const WIDTH = 6;

/** Part of what may be promised: more than adding and subtracting amounts up to it can err by. */
const SLACK = 2 ** -48;

export class DrawTree extends TierFollower {
  readonly #random: Random;
  #rows = new Float64Array(0);

  constructor(slots: Slots, terms: TreeTerms, random: Random) {
    super(slots, terms);
    this.#random = random;
  }

  /** A candidate of the tier, each as likely as the other; undefined when there is none, and then nothing is drawn. */
  override best(demand: Demand, rules: Rules): Node | undefined {
    this.catchUp(rules);
    this.#takeOutSilent(rules);
    if (demand.excludeNodeIds === null) return this.#draw(demand, rules);
    const excluded: number[] = [];
    for (const node of this.slots.nodes) {
      if (node !== undefined && demand.excludeNodeIds.has(node.nodeId)) excluded.push(node.account.slot);
    }
    for (const slot of excluded) this.takeOut(slot);
    const drawn = this.#draw(demand, rules);
    for (const slot of excluded) this.takeIn(slot, rules);
    return drawn;
  }

  #draw(demand: Demand, rules: Rules): Node | undefined {
    const count = this.#countBelow(1, demand, rules);
    if (count === 0) return undefined;
    let left = Math.floor(this.#random.fraction() * count);
    let place = 1;
    const { capacity } = this.slots;
    while (place < capacity) {
      place *= 2;
      const before = this.#countBelow(place, demand, rules);
      if (left < before) continue;
      left -= before;
      place += 1;
    }
    return this.slots.nodes[place - capacity];
  }

  /** Candidates at or below a place. */
  #countBelow(place: number, demand: Demand, rules: Rules): number {
    const at = place * WIDTH;
    const rows = this.#rows;
    const count = rows[at + COUNT] ?? 0;
    if (count === 0) return 0;
    const cpu = demand.cpuMillicores ?? 0;
    const memory = demand.memoryBytes ?? 0;
    if (cpu > (rows[at + CPU_MOST] ?? 0) || memory > (rows[at + MEMORY_MOST] ?? 0)) return 0;
    if (cpu <= (rows[at + CPU_LEAST] ?? 0) && memory <= (rows[at + MEMORY_LEAST] ?? 0)) return count;
    if (place < this.slots.capacity) {
      return this.#countBelow(2 * place, demand, rules) + this.#countBelow(2 * place + 1, demand, rules);
    }
    const node = this.slots.nodes[place - this.slots.capacity];
    return node !== undefined && whyNot(node, demand, rules) === null ? 1 : 0;
  }

  #takeOutSilent({ hearing: { nowMs, reportTtlMs } }: Rules): void {
    const rows = this.#rows;
    const { capacity } = this.slots;
    const isSilent = (place: number): boolean => nowMs - (rows[place * WIDTH + SILENT_SINCE] ?? 0) > reportTtlMs;
    while (isSilent(1)) {
      let place = 1;
      while (place < capacity) place = isSilent(2 * place) ? 2 * place : 2 * place + 1;
      // Its next report touches it.
      this.takeOut(place - capacity);
    }
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
    rows[at + SILENT_SINCE] = Math.min(rows[left + SILENT_SINCE] ?? 0, rows[right + SILENT_SINCE] ?? 0);
  }

  protected override bar(slot: number): void {
    const at = (this.slots.capacity + slot) * WIDTH;
    const rows = this.#rows;
    rows[at + COUNT] = 0;
    rows[at + CPU_LEAST] = Number.POSITIVE_INFINITY;
    rows[at + CPU_MOST] = 0;
    rows[at + MEMORY_LEAST] = Number.POSITIVE_INFINITY;
    rows[at + MEMORY_MOST] = 0;
    rows[at + SILENT_SINCE] = Number.POSITIVE_INFINITY;
  }

  protected override admit(slot: number, node: Node, rules: Rules): void {
    const { least, anyAmounts } = this.terms;
    const rows = this.#rows;
    const at = (this.slots.capacity + slot) * WIDTH;
    const { config, limited } = rules;
    const cpu = {
      projected: projectedCpu(node, config),
      promisable: promisableCpu(node, config),
      withinLimits: limited ? cpuRoom(node, config.nodeResourceLimit) : Number.POSITIVE_INFINITY,
    };
    const memory = {
      projected: projectedMemory(node, config),
      promisable: promisableMemory(node, config),
      withinLimits: limited ? memoryRoom(node, config.nodeResourceLimit) : Number.POSITIVE_INFINITY,
    };
    // The least is no question of room: `whyNot` has just answered it.
    const asksCpu = anyAmounts && least.cpuMillicores !== null;
    const asksMemory = anyAmounts && least.memoryBytes !== null;
    rows[at + COUNT] = 1;
    rows[at + CPU_LEAST] = asksCpu ? leastRoom(cpu) : Number.POSITIVE_INFINITY;
    rows[at + CPU_MOST] = asksCpu ? mostRoom(cpu) : Number.POSITIVE_INFINITY;
    rows[at + MEMORY_LEAST] = asksMemory ? leastRoom(memory) : Number.POSITIVE_INFINITY;
    rows[at + MEMORY_MOST] = asksMemory ? mostRoom(memory) : Number.POSITIVE_INFINITY;
    const sinceMs = isNeverHeard(node) ? null : silentSince(leadingPart(node));
    rows[at + SILENT_SINCE] = sinceMs ?? Number.POSITIVE_INFINITY;
  }
}

interface Room {
  readonly projected: number;
  readonly promisable: number | null;
  readonly withinLimits: number;
}

/** Whatever asks for more does not fit. */
function mostRoom({ projected, promisable, withinLimits }: Room): number {
  if (promisable === null) return withinLimits;
  return Math.min(withinLimits, promisable - projected + promisable * SLACK);
}

/** Whatever asks for no more fits. Limits on amounts are left to `whyNot`. */
function leastRoom({ projected, promisable, withinLimits }: Room): number {
  if (withinLimits !== Number.POSITIVE_INFINITY) return Number.NEGATIVE_INFINITY;
  return promisable === null ? withinLimits : promisable - projected - promisable * SLACK;
}
