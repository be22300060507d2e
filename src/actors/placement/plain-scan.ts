/** Selection as it is specified: every node is asked, and the best candidate is taken. The reference for any index. */
import { type Demand, type Rules, whyNot } from "./candidates.ts";
import type { Node } from "./nodes/node.ts";
import type { RankingContext, Strategy } from "./ranking/strategy.ts";

export interface Selection {
  readonly demand: Demand;
  readonly rules: Rules;
  readonly strategy: Strategy;
  readonly context: RankingContext;
}

/** The best candidate; undefined when there is none. */
export function selectByScan(nodes: Iterable<Node>, selection: Selection): Node | undefined {
  const candidates: Node[] = [];
  for (const node of nodes) {
    if (whyNot(node, selection.demand, selection.rules) === null) candidates.push(node);
  }
  return selection.strategy.choose(candidates, selection.demand, selection.context);
}
