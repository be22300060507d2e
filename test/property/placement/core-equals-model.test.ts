import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, test } from "vitest";
import { violatedSums } from "../../../src/actors/placement/ledger/check-sums.ts";
import { type PlacementMessage, RESERVATION_STATES } from "../../../src/messages/placement.ts";
import { countsOfViews, inOrder } from "../../fakes/counts-of-views.ts";
import { answerDifferences, nodeDifferences, reservationDifferences } from "./agreement.ts";
import { isShown } from "./model/facts.ts";
import { PlacementModel } from "./model/model.ts";
import { MODEL_SCENARIOS } from "./scenarios.ts";
import { runs, type Step, seed, steps } from "./steps.ts";
import { type Scenario, Walk } from "./walk.ts";

/** Plays the steps to both; the first difference ends the walk. */
function disagreement(scenario: Scenario, sequence: readonly Step[]): string[] {
  const model = new PlacementModel(scenario.config, Walk.start.nowMs);
  const generations = new Map<string, number>();
  const log: string[] = [];
  let found: string[] = [];
  const walk = new Walk(scenario, (message, outcome, now) => {
    const { reply } = outcome;
    const reservation = reply.ok && "reservation" in reply.answer ? reply.answer.reservation : null;
    const expected = model.handle(message, now.nowMs, reservation);
    const generation = message.type === "heartbeat" ? (generations.get(message.nodeId) ?? 0) : 0;
    const differing = answerDifferences(message, expected, outcome, { generation });
    if (message.type === "heartbeat" && reply.ok && "generation" in reply.answer) {
      generations.set(message.nodeId, reply.answer.generation);
    }
    if (!message.type.startsWith("list_")) log.push(brief(message, now.nowMs - Walk.start.nowMs));
    found = [...found, ...differing];
  });
  for (const step of sequence) {
    walk.take(step);
    // Not after every step, so that what a handler ought to judge is not always judged by the look before it.
    if (found.length === 0 && step.how % 2 === 0) found = stateDifferences(walk, model);
    if (found.length > 0) break;
  }
  return found.length === 0 ? [] : [...found, ...log];
}

/** A message in one line, without what says nothing. */
function brief(message: PlacementMessage, sinceStartMs: number): string {
  const idle = new Set<unknown>([null, 0, false, "", "READY", "http"]);
  const text = JSON.stringify(message, (key, value) => (idle.has(value) || key === "endpoint" ? undefined : value));
  return `${sinceStartMs} ms ${text.replaceAll('"', "")}`;
}

function stateDifferences(walk: Walk, { state }: PlacementModel): string[] {
  const { nowMs, wallMs } = walk.now;
  const found = violatedSums(walk.placement.core.ledger);
  let shown = 0;
  for (const status of RESERVATION_STATES) {
    const listed = walk.send({ type: "list_reservations", nodeId: null, state: status, limit: 10_000, cursor: null });
    for (const view of listed.ok ? listed.answer.reservations : []) {
      const known = state.reservations.find(({ id }) => id === view.id);
      shown += 1;
      found.push(
        ...(known === undefined ? [`${view.id} is made up`] : reservationDifferences(known, view, wallMs - nowMs)),
      );
    }
  }
  if (shown !== state.reservations.length) found.push(`${shown} reservations, not ${state.reservations.length}`);
  const listed = walk.send({ type: "list_nodes" });
  const views = listed.ok ? listed.answer.nodes : [];
  const there = [...state.nodes.values()].filter((node) => isShown(state, node));
  const ids = there.map(({ nodeId }) => nodeId).sort();
  if (ids.join() !== views.map(({ nodeId }) => nodeId).join()) found.push(`nodes should be ${ids.join()}`);
  for (const view of views) {
    const node = state.nodes.get(view.nodeId);
    if (node !== undefined) found.push(...nodeDifferences(state, node, view, nowMs));
  }
  const counted = walk.send({ type: "count_nodes", byNodeUpTo: views.length });
  const counts = countsOfViews(views);
  if (!counted.ok || !isDeepStrictEqual(inOrder(counted.answer), counts)) {
    found.push(`nodes are counted as ${JSON.stringify(counted)}, and shown as ${JSON.stringify(counts)}`);
  }
  return found;
}

describe("after every step the core answers, chooses and shows what the model says", () => {
  test.each(MODEL_SCENARIOS.map((scenario) => [scenario.name, scenario] as const))("%s", (_name, scenario) => {
    fc.assert(
      fc.property(steps(160), (sequence) => {
        const differing = disagreement(scenario, sequence);
        if (differing.length > 0) throw new Error(differing.join("\n"));
      }),
      { seed: seed(), numRuns: runs(60) },
    );
  });
});
