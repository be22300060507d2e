/**
 * The nodes of one tier in a tree of bounds, for requests of one kind: of one shape, or of any amounts. A node that
 * changed is taken in once, however many shapes there are.
 *
 * It is exact because it has no opinion of its own: `whyNot` says who is a candidate, the strategy's order says who goes
 * first, and the bound of a single node is computed as the strategy computes its weight. Only time changes a node
 * without a touch, and only towards out (silence), so that it is enough to ask `whyNot` about those who would be chosen.
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
import { cpuRoom, memoryRoom } from "../nodes/limits.ts";
import type { Node } from "../nodes/node.ts";
import type { Order } from "../ranking/strategy.ts";
import {
  BoundRows,
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
import { LAST_NEIGHBOURHOOD, neighbourhoodOf, sortedSlots } from "./leaf-order.ts";
import { NO_LEAF, Search } from "./search.ts";
import type { Slots } from "./slots.ts";
import { TierFollower } from "./tier-follower.ts";
import type { TreeTerms } from "./tiered-trees.ts";

/** Places that a search may look at per level before the leaves count as out of order. */
const FAIR_STEPS = 8;
/** What ordering the leaves anew costs per node, in places looked at. Once as much was looked at in vain, it pays. */
const ORDERING_STEPS = 16;

export class TierTree extends TierFollower {
  readonly #order: Order;
  readonly #weighed: boolean;
  readonly #search: Search;
  #rows: BoundRows;
  #leafOfSlot: Int32Array = new Int32Array(1);
  #slotOfLeaf: Int32Array = new Int32Array(1);
  #inOrder = false;
  /** Looked at beyond what is fair, since the leaves were put in order. */
  #stepsInVain = 0;

  constructor(slots: Slots, terms: TreeTerms, order: Order) {
    super(slots, terms);
    this.#order = order;
    this.#weighed = order.weighs(terms.tier);
    this.#rows = new BoundRows(1, slots, terms.anyAmounts);
    this.#search = new Search(this.#rows, slots, this.#weighed);
  }

  /** The best candidate of the tier at this moment; undefined when there is none. */
  override best(demand: Demand, rules: Rules): Node | undefined {
    this.catchUp(rules);
    const rows = this.#rows;
    const search = this.#search;
    const lightest = this.#leafOfSlot[rows.firsts[ROOT * FIRSTS_WIDTH + WEIGHT] ?? 0] ?? 0;
    search.begin(rows, this.terms.anyAmounts ? demand : null, lightest);
    for (let leaf = search.next(); leaf !== NO_LEAF; leaf = search.next()) {
      const slot = this.#slotOfLeaf[leaf] ?? 0;
      const node = this.slots.nodes[slot];
      const reason = node === undefined ? "unhealthy" : whyNot(node, demand, rules);
      if (reason === null) search.take();
      // It fell silent. Its next report touches it.
      else if (reason === "unhealthy") this.takeOut(slot);
    }
    if (this.terms.anyAmounts) this.#noteSteps(search.steps);
    return this.slots.nodes[search.bestSlot];
  }

  /** Loads move, and with them goes the order of the leaves. */
  #noteSteps(steps: number): void {
    const { leafCount } = this.#rows;
    this.#stepsInVain += Math.max(0, steps - FAIR_STEPS * Math.log2(leafCount));
    if (this.#stepsInVain <= ORDERING_STEPS * leafCount) return;
    this.#inOrder = false;
    this.forget();
  }

  protected override lay(rules: Rules): void {
    const { capacity } = this.slots;
    if (this.#rows.leafCount !== capacity) {
      this.#rows = new BoundRows(capacity, this.slots, this.terms.anyAmounts);
      this.#leafOfSlot = new Int32Array(capacity);
      this.#slotOfLeaf = new Int32Array(capacity);
      this.#inOrder = false;
    }
    if (!this.#inOrder) this.#putInOrder(rules);
  }

  /** Gives every slot its leaf. */
  #putInOrder({ config }: Rules): void {
    const { capacity, nodes } = this.slots;
    if (!this.terms.anyAmounts) {
      for (let slot = 0; slot < capacity; slot++) this.#slotOfLeaf[slot] = slot;
    } else {
      const neighbourhoods = new Float64Array(capacity).fill(LAST_NEIGHBOURHOOD);
      for (let slot = 0; slot < capacity; slot++) {
        const node = nodes[slot];
        if (node === undefined) continue;
        neighbourhoods[slot] = neighbourhoodOf({
          cpu: projectedCpu(node, config),
          cpuPromisable: promisableCpu(node, config) ?? Number.POSITIVE_INFINITY,
          memory: projectedMemory(node, config),
          memoryPromisable: promisableMemory(node, config) ?? Number.POSITIVE_INFINITY,
        });
      }
      this.#slotOfLeaf = sortedSlots(neighbourhoods);
    }
    for (let leaf = 0; leaf < capacity; leaf++) {
      const slot = this.#slotOfLeaf[leaf] ?? 0;
      this.#leafOfSlot[slot] = leaf;
      this.#rows.assign(capacity + leaf, slot);
    }
    this.#inOrder = true;
    this.#stepsInVain = 0;
  }

  protected override mergeAll(): void {
    this.#rows.mergeAll();
  }

  protected override mergeUp(slot: number): void {
    this.#rows.mergeUp(this.#placeOf(slot), slot);
  }

  protected override bar(slot: number): void {
    this.#rows.bar(this.#placeOf(slot));
  }

  #placeOf(slot: number): number {
    return this.#rows.leafCount + (this.#leafOfSlot[slot] ?? 0);
  }

  protected override admit(slot: number, node: Node, rules: Rules): void {
    this.slots.readFigures(slot, node, this.#order.byLoad);
    const { config, limited } = rules;
    const { least } = this.terms;
    const { bounds } = this.#rows;
    const at = this.#placeOf(slot) * WIDTH;
    // Of a capacity that is not known: nothing, of something endless.
    const cpuPromisable = promisableCpu(node, config) ?? Number.POSITIVE_INFINITY;
    const memoryPromisable = promisableMemory(node, config) ?? Number.POSITIVE_INFINITY;
    const cpu = cpuPromisable === Number.POSITIVE_INFINITY ? 0 : projectedCpu(node, config);
    const memory = memoryPromisable === Number.POSITIVE_INFINITY ? 0 : projectedMemory(node, config);
    bounds[at + CPU] = cpu;
    bounds[at + MEMORY] = memory;
    bounds[at + CPU_PROMISABLE] = cpuPromisable;
    bounds[at + MEMORY_PROMISABLE] = memoryPromisable;
    bounds[at + CPU_ROOM] = limited ? cpuRoom(node, config.nodeResourceLimit) : Number.POSITIVE_INFINITY;
    bounds[at + MEMORY_ROOM] = limited ? memoryRoom(node, config.nodeResourceLimit) : Number.POSITIVE_INFINITY;
    const byCpu = (cpu + (least.cpuMillicores ?? 0)) / cpuPromisable;
    const byMemory = (memory + (least.memoryBytes ?? 0)) / memoryPromisable;
    bounds[at + WEIGHT] = this.#weighed ? Math.max(byCpu, byMemory) : 0;
  }
}
