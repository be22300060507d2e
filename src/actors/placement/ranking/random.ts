/** Any of the candidates, each as likely as the other. */
import type { Node } from "../nodes/node.ts";
import { compareStanding } from "./order.ts";
import type { Strategy } from "./strategy.ts";

export const random: Strategy = {
  name: "random",
  order: null,
  choose(candidates, _demand, context) {
    let best: Node[] = [];
    for (const node of candidates) {
      const [first] = best;
      const order = first === undefined ? -1 : compareStanding(node, first, context.config);
      if (order < 0) best = [node];
      else if (order === 0) best.push(node);
    }
    return best[Math.floor(context.random.fraction() * best.length)];
  },
};
