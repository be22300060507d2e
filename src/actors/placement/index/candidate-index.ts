/**
 * Selection without asking every node: at any time, for any request, the same node as the plain scan.
 *
 * All requests of a kind (which amounts are known, managed or not) share a tree of bounds, whatever they ask for.
 * While one shape comes more often than all others together, it has a tree of its own besides, in which weights are
 * those of this very shape, so that the root names the node to choose.
 *
 * Why not a tree for every shape: each takes in every change, and is set up by asking every node. Measured side by
 * side, in µs per selection with the two changes that it brings, with 1 000 and with 100 000 nodes of six sizes, the
 * least of five runs on a busy machine. Trees for each shape: 0.8 and 1.2 for one shape, 0.9 and 3.1 for four in turn,
 * 2.0 and 11 for twelve, 130 and 25 000 for shapes that come once. The tree of bounds: 3.1 and 4.4, 2.7 and 3.5, 2.9
 * and 3.9, 3.4 and 4.4. So the tree of bounds, whose cost hardly depends on how many shapes there are, serves all, and
 * the one shape that has the others beaten is served in less than a third of it. One is enough: a second would serve
 * less than half of the requests, for all changes taken in once more, 168 bytes per slot, and a set-up that takes as
 * long as a scan each time that the shapes change.
 */
import type { Random } from "../../../ports/random.ts";
import type { Demand, Rules } from "../candidates.ts";
import type { Dropped } from "../no-nodes.ts";
import type { Node } from "../nodes/node.ts";
import type { Strategy } from "../ranking/strategy.ts";
import { DrawTree } from "./draw-tree.ts";
import { RefusedShapes } from "./refused-shapes.ts";
import { isOneShape, leastOfKind, sameShape } from "./shapes.ts";
import { Silence } from "./silence.ts";
import type { Slots } from "./slots.ts";
import { TierTree } from "./tier-tree.ts";
import { TieredTrees, type TreeTerms } from "./tiered-trees.ts";

/** A tree of its own must be set up first, so a shape has to come more often than all others by this part of the nodes. */
const FAVOURITE_SHARE = 1 / 64;
const FAVOURITE_LEAD_MIN = 16;

export interface IndexParts {
  readonly slots: Slots;
  /** All that there are, by id. */
  readonly nodes: ReadonlyMap<string, Node>;
  readonly strategy: Strategy;
  readonly random: Random;
}

export class CandidateIndex {
  readonly #slots: Slots;
  readonly #nodes: ReadonlyMap<string, Node>;
  readonly #strategy: Strategy;
  readonly #random: Random;
  /** By `kindOf`. */
  readonly #kinds: (TieredTrees | undefined)[] = [];
  /** The shape that comes most, of those that ask for amounts, and its own trees once it came often enough. */
  #favourite: Demand | null = null;
  #favouriteTrees: TieredTrees | null = null;
  /** How often it came beyond all others together. */
  #favouriteLead = 0;
  readonly #refused: RefusedShapes;
  readonly #silence: Silence;
  /** When the demotion of each node ends, the next one first, since all last equally long. */
  readonly #demotions = new Map<Node, number>();

  constructor({ slots, nodes, strategy, random }: IndexParts) {
    this.#slots = slots;
    this.#nodes = nodes;
    this.#strategy = strategy;
    this.#random = random;
    this.#silence = new Silence(slots);
    this.#refused = new RefusedShapes(slots, nodes);
  }

  /** The candidate to choose; undefined when there is none. */
  select(demand: Demand, rules: Rules): Node | undefined {
    if (this.#demotions.size > 0) this.#endDemotions(rules.nowMs);
    // In an order, only those who would be chosen need to be asked whether they are silent; a draw counts all.
    if (this.#strategy.order === null) this.#silence.touchSilent(rules);
    return this.#treesFor(demand).best(demand, rules);
  }

  /** Why each node is out, as a scan of all would count them. */
  dropped(demand: Demand, rules: Rules): Dropped {
    this.#silence.touchSilent(rules);
    return this.#refused.dropped(demand, rules);
  }

  /** The node is ranked behind from now on, until its `demotedUntilMs`. */
  noteDemotion(node: Node): void {
    this.#slots.touch(node.account);
    this.#demotions.delete(node);
    this.#demotions.set(node, node.demotedUntilMs);
  }

  #endDemotions(nowMs: number): void {
    for (const [node, untilMs] of this.#demotions) {
      if (untilMs > nowMs) return;
      this.#demotions.delete(node);
      this.#slots.touch(node.account);
    }
  }

  #treesFor(demand: Demand): TieredTrees {
    if (isOneShape(demand)) return this.#treesOfKind(demand);
    this.#weighFavour(demand);
    if (this.#favouriteTrees !== null && this.#isFavourite(demand)) return this.#favouriteTrees;
    return this.#treesOfKind(demand);
  }

  #treesOfKind(demand: Demand): TieredTrees {
    const kind = kindOf(demand);
    let trees = this.#kinds[kind];
    if (trees === undefined) {
      trees = this.#plant(leastOfKind(demand), !isOneShape(demand));
      this.#kinds[kind] = trees;
    }
    return trees;
  }

  #plant(least: Demand, anyAmounts: boolean): TieredTrees {
    const { tierOf, order } = this.#strategy;
    return new TieredTrees((tier) => {
      const terms: TreeTerms = { least, anyAmounts, tierOf, tier };
      if (order === null) return new DrawTree(this.#slots, terms, { nodes: this.#nodes, random: this.#random });
      return new TierTree(this.#slots, terms, order);
    });
  }

  /** The majority vote of R. S. Boyer and J S. Moore (1981), with an end to how far one may lead. */
  #weighFavour(demand: Demand): void {
    const lead = Math.max(FAVOURITE_LEAD_MIN, this.#slots.capacity * FAVOURITE_SHARE);
    if (this.#isFavourite(demand)) {
      this.#favouriteLead = Math.min(2 * lead, this.#favouriteLead + 1);
      if (this.#favouriteLead < lead || this.#favouriteTrees !== null) return;
      this.#favouriteTrees = this.#plant({ ...demand, excludeNodeIds: null }, false);
      return;
    }
    this.#favouriteLead -= 1;
    if (this.#favouriteLead > 0) return;
    this.#favourite = demand;
    this.#favouriteLead = 1;
    this.#favouriteTrees = null;
  }

  #isFavourite(demand: Demand): boolean {
    return this.#favourite !== null && sameShape(this.#favourite, demand);
  }
}

/** Which amounts a request asks for, and what else `whyNot` reads of it, but for the amounts and the exclusions: below 9. */
function kindOf({ creates, managed, cpuMillicores, memoryBytes }: Demand): number {
  if (!creates) return 0;
  return 1 + (managed ? 4 : 0) + (cpuMillicores === null ? 0 : 2) + (memoryBytes === null ? 0 : 1);
}
