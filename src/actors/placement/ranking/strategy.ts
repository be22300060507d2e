/** How candidates are ranked. All that keeps a node from being a candidate is decided before, for every strategy alike. */
import type { Random } from "../../../ports/random.ts";
import type { Demand } from "../candidates.ts";
import type { PlacementConfig } from "../config.ts";
import type { Node } from "../nodes/node.ts";
import { leastLoaded } from "./least-loaded.ts";
import { random } from "./random.ts";
import { roundRobin } from "./round-robin.ts";

export interface RankingContext {
  readonly config: PlacementConfig;
  readonly nowMs: number;
  readonly random: Random;
}

/**
 * An order within a tier in which the place of a candidate depends on nothing but itself, the request and the moment, so
 * that an index can keep it: lower weight first, then fewer starting, running and paused where `byLoad`, then turns and
 * ids.
 */
export interface Order {
  /** Whether the weight in this tier is the pressure of the request; else all weigh the same. */
  weighs(tier: number): boolean;
  /** Whether counts break ties. */
  readonly byLoad: boolean;
}

export interface Strategy {
  readonly name: string;
  /**
   * Candidates of a lower tier go first: 0 for the first, at most 30. It depends on which amounts the request asks for,
   * not how much; and with time alone it changes only when a demotion ends.
   */
  tierOf(node: Node, demand: Demand, moment: Pick<RankingContext, "config" | "nowMs">): number;
  /** The order in which it takes candidates of a tier; null: it draws one of them. */
  readonly order: Order | null;
  /** The best of the candidates, in whatever order they come; undefined only when there are none. */
  choose(candidates: readonly Node[], demand: Demand, context: RankingContext): Node | undefined;
}

const STRATEGIES: readonly Strategy[] = [leastLoaded, roundRobin, random];

export const STRATEGY_NAMES: readonly string[] = STRATEGIES.map((strategy) => strategy.name);

/** By name, trimmed and case-insensitive; undefined when there is none of that name. */
export function findStrategy(name: string): Strategy | undefined {
  const wanted = name.trim().toLowerCase();
  return STRATEGIES.find((strategy) => strategy.name === wanted);
}
