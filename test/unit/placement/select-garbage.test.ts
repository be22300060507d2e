/** What a selection leaves to the collector. A file of its own: it measures code that nothing else has made general. */
import { expect, test } from "vitest";
import { demandOf } from "../../../src/actors/placement/candidates.ts";
import { rulesAt } from "../../../src/actors/placement/core.ts";
import { World } from "./world.ts";

test("a selection leaves next to nothing to collect", () => {
  const world = new World();
  for (let at = 0; at < 200; at++) world.report(`n${at}`, { sandboxCount: at % 3 });
  const { core } = world.placement;
  const rules = rulesAt(core, world.nowMs);
  const demands = [1, 2, 3, 4, 5].map((cpu) => demandOf(world.request({ cpu })));
  demands.push(demandOf(world.request({ hint: "none" })));
  const grownPerSelection = (selections: number): number => {
    const before = process.memoryUsage().heapUsed;
    for (let turn = 0; turn < selections; turn++) {
      const demand = demands[turn % demands.length];
      const node = demand === undefined ? undefined : core.index.select(demand, rules);
      if (node === undefined) throw new Error("no candidate");
      core.slots.touch(node.account);
      node.lastChosenTurn += 1;
    }
    return (process.memoryUsage().heapUsed - before) / selections;
  };
  // Until it is compiled as it is in operation.
  grownPerSelection(50_000);
  // Where something was collected meanwhile, the difference says nothing of what was made.
  const grown = [1, 2, 3, 4, 5].map(() => grownPerSelection(10_000)).filter((bytes) => bytes >= 0);
  expect(grown.length).toBeGreaterThanOrEqual(2);
  grown.sort((left, right) => left - right);
  expect(grown[Math.floor(grown.length / 2)]).toBeLessThan(8);
});
