/**
 * Why each node is out for one shape of request, counted: a fleet that is full refuses without asking every node again.
 *
 * It is exact because `whyNot` says every reason, and none changes without a touch but by silence: whoever falls silent
 * has to be touched before it is asked. Amounts are whole millicores and bytes, so sums of them are exact too, up to 2^53
 * (8 PiB).
 */
import { type Demand, type Reason, type Rules, whyNot } from "../candidates.ts";
import { type Alike, type Dropped, heldOf } from "../no-nodes.ts";
import type { Node } from "../nodes/node.ts";
import { Follower } from "./follower.ts";
import type { Slots } from "./slots.ts";

type Tally = { -readonly [Key in keyof Alike]: Alike[Key] };

/** Of what a slot adds to its tally, side by side. */
const PAUSED = 0;
const CAPACITY = 1;
const WIDTH = 2;

export class ReasonTally extends Follower {
  /** What is refused, but for the exclusions, which are asked for one by one. */
  readonly demand: Demand;
  readonly #tallies = new Map<Reason, Tally>();
  /** The tally that each slot is counted in; null: none, or a candidate. */
  #talliedIn: (Tally | null)[] = [];
  #amounts = new Float64Array(0);

  constructor(demand: Demand, slots: Slots) {
    super(slots);
    this.demand = { ...demand, excludeNodeIds: null };
  }

  /** As a scan of all nodes would count them at this moment. `excluded` are those that the request excludes. */
  dropped(excluded: readonly Node[], rules: Rules): Dropped {
    this.catchUp(rules);
    const demand = { ...this.demand, excludeNodeIds: new Set(excluded.map(({ nodeId }) => nodeId)) };
    for (const { account } of excluded) this.#recount(account.slot, demand, rules);
    const counted = [...this.#tallies].filter(([, { count }]) => count > 0);
    const dropped = new Map(counted.map(([reason, tally]) => [reason, { ...tally }]));
    for (const { account } of excluded) this.takeIn(account.slot, rules);
    return dropped;
  }

  protected override beginAnew(rules: Rules): void {
    const { capacity } = this.slots;
    this.#tallies.clear();
    this.#talliedIn = new Array<Tally | null>(capacity).fill(null);
    this.#amounts = new Float64Array(capacity * WIDTH);
    for (let slot = 0; slot < capacity; slot++) this.#count(slot, this.demand, rules);
  }

  protected override takeIn(slot: number, rules: Rules): void {
    this.#recount(slot, this.demand, rules);
  }

  #recount(slot: number, demand: Demand, rules: Rules): void {
    const tally = this.#talliedIn[slot] ?? null;
    if (tally !== null) {
      tally.count -= 1;
      tally.paused -= this.#amounts[slot * WIDTH + PAUSED] ?? 0;
      tally.capacity -= this.#amounts[slot * WIDTH + CAPACITY] ?? 0;
      this.#talliedIn[slot] = null;
    }
    this.#count(slot, demand, rules);
  }

  /** To be asked for a slot that is in no tally. */
  #count(slot: number, demand: Demand, rules: Rules): void {
    const node = this.slots.nodes[slot];
    if (node === undefined) return;
    const reason = whyNot(node, demand, rules);
    if (reason === null) return;
    const { paused, capacity } = heldOf(node, reason);
    const tally = this.#tallyOf(reason);
    tally.count += 1;
    tally.paused += paused;
    tally.capacity += capacity;
    this.#talliedIn[slot] = tally;
    this.#amounts[slot * WIDTH + PAUSED] = paused;
    this.#amounts[slot * WIDTH + CAPACITY] = capacity;
  }

  #tallyOf(reason: Reason): Tally {
    let tally = this.#tallies.get(reason);
    if (tally === undefined) {
      tally = { count: 0, paused: 0, capacity: 0 };
      this.#tallies.set(reason, tally);
    }
    return tally;
  }
}
