/** In turn: the node that was chosen longest ago. */
import { compareTurns, firstOf, standingOf } from "./order.ts";
import type { Strategy } from "./strategy.ts";

export const roundRobin: Strategy = {
  name: "round_robin",
  tierOf: (node, _demand, { config }) => standingOf(node, config),
  order: { weighs: () => false, byLoad: false },
  choose: (candidates, _demand, { config }) =>
    firstOf(
      candidates,
      (left, right) => standingOf(left, config) - standingOf(right, config) || compareTurns(left, right),
    ),
};
