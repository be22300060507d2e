/**
 * Selection without asking every node: at any time, for any request, the same node as the plain scan.
 *
 * Requests come in few shapes (a template or a size of sandbox each). A shape that comes again gets a tournament; what
 * changed since it was last asked for plays in it first. A shape asked for once is served by a scan of those nodes that
 * bounds do not rule out.
 *
 * Either design alone would do. Measured side by side on a busy machine, tournament against bounds, in µs per selection
 * with the changes that it takes in: the request's own workload 0.8 against 5 with 1 000 nodes and 2.4 against 300 with
 * 100 000; twelve shapes in turn 3 against 11, and 17 against 510; equal nodes 1.1 against 170, since no bound tells
 * those that tie apart. A tournament must be set up first, though, which costs about a scan. So it serves what comes
 * again, and bounds (60 times faster than the scan with 100 000 nodes) what does not.
 */
import type { Random } from "../../../ports/random.ts";
import type { Demand, Rules } from "../candidates.ts";
import { type Dropped, droppedOf } from "../no-nodes.ts";
import type { Node } from "../nodes/node.ts";
import { selectByScan } from "../plain-scan.ts";
import type { Strategy } from "../ranking/strategy.ts";
import { BlockBounds } from "./block-bounds.ts";
import { ReasonTally } from "./reason-tally.ts";
import type { Slots } from "./slots.ts";
import { Tournament } from "./tournament.ts";

/** Each costs 16 bytes per node, and a few comparisons for each node that changed since it was last asked for. */
const TOURNAMENTS_MAX = 16;
/** Requests that a tournament is not asked for before another shape may take its place. */
const IDLE_REQUESTS = 256;
/** Shapes remembered as asked for once. */
const STRANGERS_MAX = 64;

interface Seat {
  readonly tournament: Tournament;
  /** Null until a request of this shape is refused; costs 24 bytes per node. */
  tally: ReasonTally | null;
  lastRequest: number;
}

export class CandidateIndex {
  readonly #slots: Slots;
  readonly #strategy: Strategy;
  readonly #random: Random;
  /** For shapes without a tournament; null where load does not matter. */
  readonly #bounds: BlockBounds | null;
  readonly #seats: Seat[] = [];
  /** Shapes that were asked for without having a tournament, the latest last. */
  readonly #strangers: Demand[] = [];
  #requests = 0;
  /** When the demotion of each node ends, the next one first, since all last equally long. */
  readonly #demotions = new Map<Node, number>();

  constructor(slots: Slots, strategy: Strategy, random: Random) {
    this.#slots = slots;
    this.#strategy = strategy;
    this.#random = random;
    this.#bounds = strategy.order?.byLoad ? new BlockBounds(slots, strategy.order) : null;
  }

  /** The candidate to choose; undefined when there is none. */
  select(demand: Demand, rules: Rules): Node | undefined {
    this.#requests += 1;
    if (this.#demotions.size > 0) this.#endDemotions(rules.nowMs);
    const tournament = this.#tournamentFor(demand);
    if (tournament !== null) return tournament.best(demand.excludeNodeIds, rules);
    const context = { config: rules.config, nowMs: rules.nowMs, random: this.#random };
    const selection = { demand, rules, strategy: this.#strategy, context };
    return this.#bounds === null ? selectByScan(this.#nodes(), selection) : this.#bounds.best(selection);
  }

  /** Why each node is out, as a scan of all would count them. `nodes` are all that there are, by id. */
  dropped(demand: Demand, rules: Rules, nodes: ReadonlyMap<string, Node>): Dropped {
    const seat = this.#seatOf(demand);
    if (seat === undefined) return droppedOf(nodes.values(), demand, rules);
    seat.tally ??= new ReasonTally(demand, this.#slots);
    const excluded = [...(demand.excludeNodeIds ?? [])].map((nodeId) => nodes.get(nodeId));
    return seat.tally.dropped(
      excluded.filter((node) => node !== undefined),
      rules,
    );
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

  /** Null where the strategy has no order that could be kept, and for a shape that is asked for once. */
  #tournamentFor(demand: Demand): Tournament | null {
    const { order } = this.#strategy;
    if (order === null) return null;
    const seat = this.#seatOf(demand);
    if (seat !== undefined) {
      seat.lastRequest = this.#requests;
      return seat.tournament;
    }
    if (!this.#cameBefore(demand) || !this.#makeRoom()) return null;
    const tournament = new Tournament({ ...demand, excludeNodeIds: null }, this.#slots, order);
    this.#seats.push({ tournament, tally: null, lastRequest: this.#requests });
    return tournament;
  }

  #seatOf(demand: Demand): Seat | undefined {
    return this.#seats.find(({ tournament }) => sameShape(tournament.demand, demand));
  }

  /** Whether this is a shape that was asked for lately; it is remembered. */
  #cameBefore(demand: Demand): boolean {
    const strangers = this.#strangers;
    if (strangers.some((stranger) => sameShape(stranger, demand))) return true;
    strangers.push(demand);
    if (strangers.length > STRANGERS_MAX) strangers.shift();
    return false;
  }

  /** Whether there is a free seat, now that the idlest has left if it was idle for long enough. */
  #makeRoom(): boolean {
    if (this.#seats.length < TOURNAMENTS_MAX) return true;
    let idlest = 0;
    for (const [at, seat] of this.#seats.entries()) {
      if (seat.lastRequest < (this.#seats[idlest]?.lastRequest ?? 0)) idlest = at;
    }
    if (this.#requests - (this.#seats[idlest]?.lastRequest ?? 0) < IDLE_REQUESTS) return false;
    this.#seats.splice(idlest, 1);
    return true;
  }

  *#nodes(): Iterable<Node> {
    for (const node of this.#slots.nodes) if (node !== undefined) yield node;
  }
}

/** Equal but for the exclusions. */
function sameShape(left: Demand, right: Demand): boolean {
  return (
    left.cpuMillicores === right.cpuMillicores &&
    left.memoryBytes === right.memoryBytes &&
    left.creates === right.creates &&
    left.managed === right.managed
  );
}
