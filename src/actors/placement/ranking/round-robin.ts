/** In turn: the node that was chosen longest ago. */

import { isNeverHeard } from "../nodes/lifecycle.ts";
import { compareStanding, compareTurns, firstOf, isUnderDemotingCondition } from "./order.ts";
import type { Strategy } from "./strategy.ts";

export const roundRobin: Strategy = {
  name: "round_robin",
  choose: (candidates, _demand, { config }) =>
    firstOf(candidates, (left, right) => compareStanding(left, right, config) || compareTurns(left, right)),
  order: {
    tierOf: (node, _demand, { config }) =>
      (isNeverHeard(node) ? 2 : 0) + (isUnderDemotingCondition(node, config) ? 1 : 0),
    weighs: () => false,
    byLoad: false,
  },
};
