/** The nodes in one tree per tier, for the requests of one kind. Most fleets have one tier, and make one tree. */
import type { Demand, Rules } from "../candidates.ts";
import type { Node } from "../nodes/node.ts";
import type { Strategy } from "../ranking/strategy.ts";

/** What a tree is made for. */
export interface TreeTerms {
  /** The shape, or the least that is asked for: who is out for this is out for every request of the kind. */
  readonly least: Demand;
  /** Whether requests ask for more than the least, each for its own amounts. */
  readonly anyAmounts: boolean;
  readonly tierOf: Strategy["tierOf"];
  readonly tier: number;
}

export interface Tree {
  /** The candidate of its tier to choose at this moment; undefined when there is none. */
  best(demand: Demand, rules: Rules): Node | undefined;
  /** Bit k: some node may be of tier k. As of the last choice. */
  readonly otherTiers: number;
}

export class TieredTrees {
  readonly #plant: (tier: number) => Tree;
  readonly #first: Tree;
  /** By tier, those that were asked for. */
  readonly #others: (Tree | undefined)[] = [];

  constructor(plant: (tier: number) => Tree) {
    this.#plant = plant;
    this.#first = plant(0);
  }

  /** The candidate to choose at this moment; undefined when there is none. */
  best(demand: Demand, rules: Rules): Node | undefined {
    let best = this.#first.best(demand, rules);
    const { otherTiers } = this.#first;
    for (let tier = 1; best === undefined && otherTiers >> tier !== 0; tier++) {
      if (((otherTiers >> tier) & 1) !== 0) best = this.#treeOf(tier).best(demand, rules);
    }
    return best;
  }

  #treeOf(tier: number): Tree {
    let tree = this.#others[tier];
    if (tree === undefined) {
      tree = this.#plant(tier);
      this.#others[tier] = tree;
    }
    return tree;
  }
}
