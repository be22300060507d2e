/**
 * What a tree keeps of the nodes of its tier, whatever it keeps of each: a node that is out, or of another tier, is
 * barred, and every other has its say in the row of its leaf.
 */
import { type Demand, type Rules, whyNot } from "../candidates.ts";
import type { Node } from "../nodes/node.ts";
import { Follower } from "./follower.ts";
import type { Slots } from "./slots.ts";
import type { Tree, TreeTerms } from "./tiered-trees.ts";

export abstract class TierFollower extends Follower implements Tree {
  protected readonly terms: TreeTerms;
  #otherTiers = 0;

  constructor(slots: Slots, terms: TreeTerms) {
    super(slots);
    this.terms = terms;
  }

  get otherTiers(): number {
    return this.#otherTiers;
  }

  abstract best(demand: Demand, rules: Rules): Node | undefined;

  /** Gives every slot a leaf. What is on the leaves is set anew next. */
  protected abstract lay(rules: Rules): void;
  /** Sets the leaf of the slot to what its node is, which may be chosen. */
  protected abstract admit(slot: number, node: Node, rules: Rules): void;
  /** Sets the leaf of the slot so that nothing is chosen there. */
  protected abstract bar(slot: number): void;
  /** After the leaf of the slot has changed: all above it. */
  protected abstract mergeUp(slot: number): void;
  /** After all leaves have changed. */
  protected abstract mergeAll(): void;

  protected override beginAnew(rules: Rules): void {
    this.#otherTiers = 0;
    this.lay(rules);
    for (let slot = 0; slot < this.slots.capacity; slot++) this.#judge(slot, rules);
    this.mergeAll();
  }

  protected override takeIn(slot: number, rules: Rules): void {
    this.#judge(slot, rules);
    this.mergeUp(slot);
  }

  /** Until it is touched. */
  protected takeOut(slot: number): void {
    this.bar(slot);
    this.mergeUp(slot);
  }

  #judge(slot: number, rules: Rules): void {
    const node = this.slots.nodes[slot];
    const { least, tierOf, tier } = this.terms;
    if (node === undefined || whyNot(node, least, rules) !== null) return this.bar(slot);
    const itsTier = tierOf(node, least, rules);
    if (itsTier === tier) return this.admit(slot, node, rules);
    this.#otherTiers |= 1 << itsTier;
    this.bar(slot);
  }
}
