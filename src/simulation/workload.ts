/** The stream of requests: when each comes and how long its sandbox lives, drawn from one seed. */
import type { Random } from "../ports/random.ts";

export interface WorkloadTerms {
  readonly requests: number;
  /** Mean number of requests per second; the gaps are exponential, as those of independent callers are. */
  readonly ratePerSecond: number;
  /** Mean life of a sandbox, exponential too; null: none ever ends. */
  readonly lifetimeMs: number | null;
}

export interface Arrival {
  readonly atMs: number;
  /** Null: the sandbox never ends. */
  readonly lifetimeMs: number | null;
}

/**
 * In order of time, the first at 0. Two draws per request whatever the terms, so that arrivals stay the same when only
 * lifetimes are turned on.
 */
export function* arrivalsOf(terms: WorkloadTerms, random: Random): Generator<Arrival> {
  let atMs = 0;
  for (let number = 0; number < terms.requests; number++) {
    const gapMs = exponential(1000 / terms.ratePerSecond, random);
    const lifetimeMs = exponential(terms.lifetimeMs ?? 0, random);
    if (number > 0) atMs += gapMs;
    yield { atMs, lifetimeMs: terms.lifetimeMs === null ? null : lifetimeMs };
  }
}

function exponential(mean: number, random: Random): number {
  return -mean * Math.log(1 - random.fraction());
}
