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

export interface Strategy {
  readonly name: string;
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
