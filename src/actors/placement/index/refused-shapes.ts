/** Refusals, counted by reason. A shape that is refused again gets a tally, so that only a first time asks every node. */
import type { Demand, Rules } from "../candidates.ts";
import { type Dropped, droppedOf } from "../no-nodes.ts";
import type { Node } from "../nodes/node.ts";
import { ReasonTally } from "./reason-tally.ts";
import { excludedBy, sameShape } from "./shapes.ts";
import type { Slots } from "./slots.ts";

/** Each costs 24 bytes per node, and a look at each node that changed since it was last asked for. */
const TALLIES_MAX = 16;
/** Refusals in which a tally is not asked for before another shape may take its place. */
const IDLE_REFUSALS = 256;
/** Shapes remembered as refused once. */
const STRANGERS_MAX = 64;

interface Seat {
  readonly tally: ReasonTally;
  lastRefusal: number;
}

export class RefusedShapes {
  readonly #slots: Slots;
  readonly #nodes: ReadonlyMap<string, Node>;
  readonly #seats: Seat[] = [];
  /** Shapes that were refused without having a tally, the latest last. */
  readonly #strangers: Demand[] = [];
  #refusals = 0;

  /** `nodes` are all that there are, by id. */
  constructor(slots: Slots, nodes: ReadonlyMap<string, Node>) {
    this.#slots = slots;
    this.#nodes = nodes;
  }

  /** Why each node is out, as a scan of all would count them. */
  dropped(demand: Demand, rules: Rules): Dropped {
    this.#refusals += 1;
    const tally = this.#tallyFor(demand);
    if (tally === null) return droppedOf(this.#nodes.values(), demand, rules);
    return tally.dropped(excludedBy(demand, this.#nodes), rules);
  }

  /** Null for a shape that is refused for the first time, or while all tallies are in use. */
  #tallyFor(demand: Demand): ReasonTally | null {
    const seat = this.#seats.find(({ tally }) => sameShape(tally.demand, demand));
    if (seat !== undefined) {
      seat.lastRefusal = this.#refusals;
      return seat.tally;
    }
    if (!this.#cameBefore(demand) || !this.#makeRoom()) return null;
    const tally = new ReasonTally(demand, this.#slots);
    this.#seats.push({ tally, lastRefusal: this.#refusals });
    return tally;
  }

  /** Whether this is a shape that was refused lately; it is remembered. */
  #cameBefore(demand: Demand): boolean {
    const strangers = this.#strangers;
    if (strangers.some((stranger) => sameShape(stranger, demand))) return true;
    strangers.push(demand);
    if (strangers.length > STRANGERS_MAX) strangers.shift();
    return false;
  }

  /** Whether there is a free seat, now that the idlest has left if it was idle for long enough. */
  #makeRoom(): boolean {
    if (this.#seats.length < TALLIES_MAX) return true;
    let idlest = 0;
    for (const [at, seat] of this.#seats.entries()) {
      if (seat.lastRefusal < (this.#seats[idlest]?.lastRefusal ?? 0)) idlest = at;
    }
    if (this.#refusals - (this.#seats[idlest]?.lastRefusal ?? 0) < IDLE_REFUSALS) return false;
    this.#seats.splice(idlest, 1);
    return true;
  }
}
