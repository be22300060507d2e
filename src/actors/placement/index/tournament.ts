/**
 * A knock-out among all nodes for one shape of request. Every inner place of a binary tree over the slots holds the
 * better of its two children, so that the root is the node to choose, and a node that changed plays again only on its
 * own way up: about log2 n comparisons.
 *
 * It is exact because it has no opinion of its own: `whyNot` says who takes part, the strategy's order says who wins.
 * Only time can change that without a touch, and only towards out (silence), so that asking `whyNot` about the winner
 * is enough.
 */
import { type Demand, type Rules, whyNot } from "../candidates.ts";
import type { Node } from "../nodes/node.ts";
import type { Order } from "../ranking/strategy.ts";
import { Follower } from "./follower.ts";
import type { Slots } from "./slots.ts";

/** The tier of those who do not take part: behind every tier of a strategy. */
const OUT = 255;

export class Tournament extends Follower {
  /** What is asked, but for the exclusions. */
  readonly demand: Demand;
  readonly #order: Order;
  #tiers = new Uint8Array(0);
  #weights = new Float64Array(0);
  /** The winner of place 1 is the best of all; those of places 2k and 2k + 1 meet at place k. Leaves are not stored. */
  #winners = new Int32Array(0);

  constructor(demand: Demand, slots: Slots, order: Order) {
    super(slots);
    this.demand = demand;
    this.#order = order;
  }

  /** The best candidate at this moment; undefined when there is none. */
  best(excluded: ReadonlySet<string> | null, rules: Rules): Node | undefined {
    this.catchUp(rules);
    return excluded === null ? this.#bestOfAll(rules) : this.#bestWithout(excluded, rules);
  }

  #bestOfAll(rules: Rules): Node | undefined {
    for (;;) {
      const slot = this.#winnerAt(1);
      const node = this.#tiers[slot] === OUT ? undefined : this.slots.nodes[slot];
      if (node === undefined || whyNot(node, this.demand, rules) === null) return node;
      // It fell silent. Its next report touches it.
      this.#takeOut(slot);
    }
  }

  /** Takes the excluded out as they win, and lets them play again for the next request. */
  #bestWithout(excluded: ReadonlySet<string>, rules: Rules): Node | undefined {
    const takenOut: number[] = [];
    let best = this.#bestOfAll(rules);
    while (best !== undefined && excluded.has(best.nodeId)) {
      takenOut.push(best.account.slot);
      this.#takeOut(best.account.slot);
      best = this.#bestOfAll(rules);
    }
    for (const slot of takenOut) this.takeIn(slot, rules);
    return best;
  }

  protected override beginAnew(rules: Rules): void {
    const { capacity } = this.slots;
    if (this.#tiers.length !== capacity) {
      this.#tiers = new Uint8Array(capacity);
      this.#weights = new Float64Array(capacity);
      this.#winners = new Int32Array(capacity);
    }
    for (let slot = 0; slot < capacity; slot++) this.#judge(slot, rules);
    for (let place = capacity - 1; place >= 1; place--) this.#winners[place] = this.#play(place);
  }

  protected override takeIn(slot: number, rules: Rules): void {
    this.#judge(slot, rules);
    this.#playUp(slot);
  }

  #takeOut(slot: number): void {
    this.#tiers[slot] = OUT;
    this.#playUp(slot);
  }

  /** Sets where the node of a slot stands. */
  #judge(slot: number, rules: Rules): void {
    const node = this.slots.nodes[slot];
    if (node === undefined || whyNot(node, this.demand, rules) !== null) {
      this.#tiers[slot] = OUT;
      return;
    }
    const order = this.#order;
    this.slots.readFigures(slot, node, order.byLoad);
    this.#tiers[slot] = order.tierOf(node, this.demand, rules);
    this.#weights[slot] = order.weightOf(node, this.demand, rules.config);
  }

  #playUp(slot: number): void {
    const winners = this.#winners;
    for (let place = (winners.length + slot) >> 1; place >= 1; place >>= 1) winners[place] = this.#play(place);
  }

  #play(place: number): number {
    const left = this.#winnerAt(2 * place);
    const right = this.#winnerAt(2 * place + 1);
    const leftTier = this.#tiers[left] ?? OUT;
    const rightTier = this.#tiers[right] ?? OUT;
    if (leftTier !== rightTier) return leftTier < rightTier ? left : right;
    if (leftTier === OUT) return left;
    const leftWeight = this.#weights[left] ?? 0;
    const rightWeight = this.#weights[right] ?? 0;
    if (leftWeight !== rightWeight) return leftWeight < rightWeight ? left : right;
    return this.slots.compareTies(left, right) < 0 ? left : right;
  }

  #winnerAt(place: number): number {
    const leaves = this.#winners.length;
    return place < leaves ? (this.#winners[place] ?? 0) : place - leaves;
  }
}
