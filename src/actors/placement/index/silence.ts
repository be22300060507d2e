/**
 * Silence, which changes a node without a message: here it becomes a touch, so that whatever follows the slots hears of
 * it as of any other change, once for each node that falls silent.
 *
 * A binary tree holds for each slot a time at or before the one since which its leading part has been silent; place 1 is
 * the root, 2k and 2k + 1 are below place k. A report only makes the true time later, so it moves nothing here: where the
 * time kept is too long ago, the node is asked, and the true one kept.
 */
import type { Rules } from "../candidates.ts";
import { isFresh, silentSince } from "../nodes/lifecycle.ts";
import { leadingPart, type Node } from "../nodes/node.ts";
import { Follower } from "./follower.ts";

export class Silence extends Follower {
  /** By place, in milliseconds; infinite where nobody's silence would change a thing. */
  #sinceMs = new Float64Array(0);

  /** Touches each node that fell silent. To be called before a decision that relies on touches alone. */
  touchSilent(rules: Rules): void {
    this.catchUp(rules);
    const { capacity } = this.slots;
    const { nowMs, reportTtlMs } = rules.hearing;
    const isOverdue = (place: number): boolean => nowMs - (this.#sinceMs[place] ?? 0) > reportTtlMs;
    while (isOverdue(1)) {
      let place = 1;
      while (place < capacity) place = isOverdue(2 * place) ? 2 * place : 2 * place + 1;
      const slot = place - capacity;
      this.#keep(slot, rules);
      const node = this.slots.nodes[slot];
      if (node !== undefined && this.#sinceMs[place] === Number.POSITIVE_INFINITY) this.slots.touch(node.account);
    }
  }

  /** Times of before are kept: whoever fell silent meanwhile has not been touched yet. */
  protected override beginAnew(rules: Rules): void {
    const { capacity, nodes } = this.slots;
    const before = this.#sinceMs.subarray(this.#sinceMs.length / 2);
    this.#sinceMs = new Float64Array(2 * capacity).fill(Number.POSITIVE_INFINITY);
    for (const [slot, node] of nodes.entries()) {
      this.#sinceMs[capacity + slot] = Math.min(before[slot] ?? Number.POSITIVE_INFINITY, freshSince(node, rules));
    }
    for (let place = capacity - 1; place >= 1; place--) this.#merge(place);
  }

  protected override takeIn(slot: number, rules: Rules): void {
    const kept = this.#sinceMs[this.slots.capacity + slot] ?? 0;
    if (freshSince(this.slots.nodes[slot], rules) < kept) this.#keep(slot, rules);
  }

  #keep(slot: number, rules: Rules): void {
    const leaf = this.slots.capacity + slot;
    this.#sinceMs[leaf] = freshSince(this.slots.nodes[slot], rules);
    for (let place = leaf >> 1; place >= 1; place >>= 1) this.#merge(place);
  }

  #merge(place: number): void {
    this.#sinceMs[place] = Math.min(this.#sinceMs[2 * place] ?? 0, this.#sinceMs[2 * place + 1] ?? 0);
  }
}

/** Since when a leading part that is fresh has been silent; infinite where it is not, for it can fall silent no more. */
function freshSince(node: Node | undefined, { hearing }: Rules): number {
  if (node === undefined) return Number.POSITIVE_INFINITY;
  const part = leadingPart(node);
  return isFresh(part, hearing) ? (silentSince(part) ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
}
