/**
 * Any of the candidates, each as likely as the other. One draw decides: of m candidates in the order of their slots, the
 * one with the number ⌊m × fraction⌋. Where there is none, nothing is drawn.
 */
import type { Node } from "../nodes/node.ts";
import { standingOf } from "./order.ts";
import type { Strategy } from "./strategy.ts";

export const random: Strategy = {
  name: "random",
  tierOf: (node, _demand, { config }) => standingOf(node, config),
  order: null,
  choose(candidates, _demand, context) {
    let best: Node[] = [];
    let bestStanding = Number.POSITIVE_INFINITY;
    for (const node of candidates) {
      const standing = standingOf(node, context.config);
      if (standing > bestStanding) continue;
      if (standing < bestStanding) best = [];
      bestStanding = standing;
      best.push(node);
    }
    if (best.length === 0) return undefined;
    best.sort((left, right) => left.account.slot - right.account.slot);
    return best[Math.floor(context.random.fraction() * best.length)];
  },
};
