/**
 * Selection for shapes of requests that come once: flat arrays of each node's load, and the least of each in every block
 * of nodes, from which it follows how light a request of any shape could be there at best. Most blocks are too heavy for
 * any of their nodes to be chosen; the plain scan decides among the others.
 *
 * A bound may be loose, never wrong. With x = projected ÷ promisable and u = 1 ÷ promisable, the pressure of a demand d
 * is x + d × u but for rounding: four operations, each within one part in 2^53, for which `MARGIN` is ample. Amounts are
 * never negative.
 */
import {
  type Demand,
  projectedCpu,
  projectedMemory,
  promisableCpu,
  promisableMemory,
  type Rules,
  whyNot,
} from "../candidates.ts";
import type { Node } from "../nodes/node.ts";
import { type Selection, selectByScan } from "../plain-scan.ts";
import type { Order } from "../ranking/strategy.ts";
import { Follower } from "./follower.ts";
import type { Slots } from "./slots.ts";

const MARGIN = 1 - 2 ** -48;
/** Divides every capacity of the slots. A block costs about as much to rule out as one of its nodes. */
const BLOCK = 16;

/** Per slot or block, side by side. Infinite where no node may be chosen, negatively where a capacity is unknown. */
const CPU = 0;
const MEMORY = 1;
/** The greater of the two. */
const GREATER = 2;
const PER_MILLICORE = 3;
const PER_BYTE = 4;
const WIDTH = 5;

/** Asks as little as can be: whoever is out for this is out for every request. */
const LEAST_DEMAND: Demand = {
  creates: false,
  cpuMillicores: null,
  memoryBytes: null,
  managed: true,
  excludeNodeIds: null,
};

export class BlockBounds extends Follower {
  readonly #order: Order;
  #loads = new Float64Array(0);
  #blocks = new Float64Array(0);

  constructor(slots: Slots, order: Order) {
    super(slots);
    this.#order = order;
  }

  /** The very node that a scan of all would choose. */
  best(selection: Selection): Node | undefined {
    this.catchUp(selection.rules);
    return selectByScan(this.#upTo(this.#leastPressure(selection), selection.demand), selection);
  }

  /**
   * The least pressure of a candidate of the first tier, behind which no heavier node goes first, whatever its tier.
   * Infinite where there is none.
   */
  #leastPressure({ demand, rules, context }: Selection): number {
    let least = Number.POSITIVE_INFINITY;
    const lightest = this.#lightestBlock(demand);
    const blocks = this.slots.capacity / BLOCK;
    // The lightest first: the lower the pressure that is known, the more is ruled out by it.
    for (let turn = -1; turn < blocks; turn++) {
      const block = turn < 0 ? lightest : turn;
      if (boundAt(this.#blocks, block, demand) >= least) continue;
      for (let slot = block * BLOCK; slot < (block + 1) * BLOCK; slot++) {
        if (boundAt(this.#loads, slot, demand) >= least) continue;
        const node = this.slots.nodes[slot];
        if (node === undefined || whyNot(node, demand, rules) !== null) continue;
        if (this.#order.tierOf(node, demand, context) > 0) continue;
        least = Math.min(least, this.#order.weightOf(node, demand, context.config));
      }
    }
    return least;
  }

  #lightestBlock(demand: Demand): number {
    let lightest = 0;
    let leastBound = Number.POSITIVE_INFINITY;
    for (let block = 0; block < this.slots.capacity / BLOCK; block++) {
      const bound = boundAt(this.#blocks, block, demand);
      if (bound >= leastBound) continue;
      leastBound = bound;
      lightest = block;
    }
    return lightest;
  }

  /** All nodes that may have a pressure of at most `heaviest`. */
  *#upTo(heaviest: number, demand: Demand): Iterable<Node> {
    for (let block = 0; block < this.slots.capacity / BLOCK; block++) {
      if (boundAt(this.#blocks, block, demand) > heaviest) continue;
      for (let slot = block * BLOCK; slot < (block + 1) * BLOCK; slot++) {
        const node = this.slots.nodes[slot];
        if (node !== undefined && boundAt(this.#loads, slot, demand) <= heaviest) yield node;
      }
    }
  }

  protected override beginAnew(rules: Rules): void {
    const { capacity } = this.slots;
    this.#loads = new Float64Array(capacity * WIDTH);
    this.#blocks = new Float64Array((capacity / BLOCK) * WIDTH);
    for (let slot = 0; slot < capacity; slot++) this.#weigh(slot, rules);
    for (let block = 0; block < capacity / BLOCK; block++) this.#bound(block);
  }

  protected override takeIn(slot: number, rules: Rules): void {
    this.#weigh(slot, rules);
    this.#bound(Math.floor(slot / BLOCK));
  }

  #weigh(slot: number, rules: Rules): void {
    const node = this.slots.nodes[slot];
    const at = slot * WIDTH;
    if (node === undefined || whyNot(node, LEAST_DEMAND, rules) !== null) {
      this.#loads.fill(Number.POSITIVE_INFINITY, at, at + WIDTH);
      return;
    }
    const cpu = loadOf(projectedCpu(node, rules.config), promisableCpu(node, rules.config));
    const memory = loadOf(projectedMemory(node, rules.config), promisableMemory(node, rules.config));
    this.#loads[at + CPU] = cpu.load;
    this.#loads[at + MEMORY] = memory.load;
    this.#loads[at + GREATER] = Math.max(cpu.load, memory.load);
    this.#loads[at + PER_MILLICORE] = cpu.perUnit;
    this.#loads[at + PER_BYTE] = memory.perUnit;
  }

  #bound(block: number): void {
    for (let column = 0; column < WIDTH; column++) {
      let least = Number.POSITIVE_INFINITY;
      for (let slot = block * BLOCK; slot < (block + 1) * BLOCK; slot++) {
        least = Math.min(least, this.#loads[slot * WIDTH + column] ?? least);
      }
      this.#blocks[block * WIDTH + column] = least;
    }
  }
}

function loadOf(projected: number, promisable: number | null): { readonly load: number; readonly perUnit: number } {
  if (promisable === null) return { load: Number.NEGATIVE_INFINITY, perUnit: 0 };
  return { load: projected / promisable, perUnit: 1 / promisable };
}

/** A lower bound of the pressure, with the demand, of every node that is in the row. */
function boundAt(rows: Float64Array, row: number, demand: Demand): number {
  const at = row * WIDTH;
  const greater = rows[at + GREATER] ?? 0;
  if (greater === Number.POSITIVE_INFINITY) return greater;
  const ofCpu = (demand.cpuMillicores ?? 0) * (rows[at + PER_MILLICORE] ?? 0);
  const ofMemory = (demand.memoryBytes ?? 0) * (rows[at + PER_BYTE] ?? 0);
  const cpu = (rows[at + CPU] ?? 0) + ofCpu;
  const memory = (rows[at + MEMORY] ?? 0) + ofMemory;
  return Math.max(cpu, memory, greater + Math.min(ofCpu, ofMemory)) * MARGIN;
}
