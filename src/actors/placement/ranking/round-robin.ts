/** In turn: the node that was chosen longest ago. */
import { compareStanding, compareTurns, firstOf } from "./order.ts";
import type { Strategy } from "./strategy.ts";

export const roundRobin: Strategy = {
  name: "round_robin",
  choose: (candidates, _demand, { config }) =>
    firstOf(candidates, (left, right) => compareStanding(left, right, config) || compareTurns(left, right)),
};
