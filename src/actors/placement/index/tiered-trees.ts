/** The nodes in one tree per tier, for the requests of one kind. Most fleets have one tier, and make one tree. */
import type { Demand, Rules } from "../candidates.ts";
import type { Node } from "../nodes/node.ts";
import type { Slots } from "./slots.ts";
import { TierTree, type TreeTerms } from "./tier-tree.ts";

export class TieredTrees {
  readonly #slots: Slots;
  readonly #terms: Omit<TreeTerms, "tier">;
  readonly #first: TierTree;
  /** By tier, those that were asked for. */
  readonly #others: (TierTree | undefined)[] = [];

  constructor(slots: Slots, terms: Omit<TreeTerms, "tier">) {
    this.#slots = slots;
    this.#terms = terms;
    this.#first = new TierTree(slots, { ...terms, tier: 0 });
  }

  /** The best candidate at this moment; undefined when there is none. */
  best(demand: Demand, rules: Rules): Node | undefined {
    let best = this.#first.best(demand, rules);
    const { otherTiers } = this.#first;
    for (let tier = 1; best === undefined && otherTiers >> tier !== 0; tier++) {
      if (((otherTiers >> tier) & 1) !== 0) best = this.#treeOf(tier).best(demand, rules);
    }
    return best;
  }

  #treeOf(tier: number): TierTree {
    const tree = this.#others[tier] ?? new TierTree(this.#slots, { ...this.#terms, tier });
    this.#others[tier] = tree;
    return tree;
  }
}
