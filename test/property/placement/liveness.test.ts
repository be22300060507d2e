import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AGGREGATE_SCENARIOS, MODEL_SCENARIOS } from "./scenarios.ts";
import { runs, type Step, seed, steps } from "./steps.ts";
import type { Scenario } from "./walk.ts";
import { Walk } from "./walk.ts";

/** The longest that anything may stay without a word: the age of a reservation, renewed to the end, and a heartbeat. */
const CALM_MS = 330_000;
const HEARTBEAT_MS = 5_000;
/** A day of it would be as good and take longer. Longer than a stall, ticks would say that the process stood still. */
const FORGET_MS = 1_800_000;
const TICK_MS = 10_000;

const ALL = [...MODEL_SCENARIOS, ...AGGREGATE_SCENARIOS].map((scenario) => [scenario.name, scenario] as const);

function walked(scenario: Scenario, sequence: readonly Step[]): Walk {
  const walk = new Walk(scenario, (_message, { notices }) => {
    expect(notices.filter(({ type }) => type === "handler_failed")).toEqual([]);
  });
  for (const step of sequence) {
    walk.take(step);
    expect(lateTimer(walk)).toBe(0);
  }
  return walk;
}

/** By how much the next timer comes after a lease has ended, in milliseconds. */
function lateTimer({ placement }: Walk): number {
  const pending = [...placement.core.ledger.reservations.values()].filter(({ status }) => status === "pending");
  if (pending.length === 0) return 0;
  return Math.max(0, (placement.nextDueMs() ?? Infinity) - Math.min(...pending.map(({ leaseEndMs }) => leaseEndMs)));
}

function stillCharged(walk: Walk): unknown[] {
  const live = walk.send({ type: "list_reservations", nodeId: null, state: null, limit: 10_000, cursor: null });
  const nodes = walk.send({ type: "list_nodes" });
  const charged = nodes.ok
    ? nodes.answer.nodes.filter(
        ({ inFlight: { cpuMillicores, memoryBytes, count } }) => cpuMillicores + memoryBytes + count !== 0,
      )
    : ["no nodes"];
  return [...(live.ok ? live.answer.reservations : ["no reservations"]), ...charged];
}

describe("once traffic and faults have stopped, nothing stays charged", () => {
  test.each(ALL)("%s: while nodes report", (_name, scenario) => {
    fc.assert(
      fc.property(steps(100), (sequence) => {
        const walk = walked(scenario, sequence);
        for (let calmMs = 0; calmMs < CALM_MS; calmMs += HEARTBEAT_MS) {
          walk.pass(HEARTBEAT_MS);
          walk.reportAll();
          walk.send({ type: "tick" });
        }
        // The ledger of a node without a runtime ends with whoever says that the sandbox is gone.
        for (const { sandboxId } of walk.placement.core.ledger.reservations.values()) {
          if (sandboxId !== null) walk.send({ type: "release_sandbox", sandboxId });
        }
        expect(stillCharged(walk)).toEqual([]);
      }),
      { seed: seed(), numRuns: runs(12) },
    );
  });

  test.each(ALL)("%s: when no node is ever heard again", (_name, { config, ...rest }) => {
    const forgetful = { ...rest, config: { ...config, nodeForgetTtlMs: FORGET_MS } };
    fc.assert(
      fc.property(steps(100), (sequence) => {
        const walk = walked(forgetful, sequence);
        for (let silentMs = 0; silentMs <= FORGET_MS + CALM_MS; silentMs += TICK_MS) {
          walk.pass(TICK_MS);
          walk.send({ type: "tick" });
        }
        expect(stillCharged(walk)).toEqual([]);
        if (config.nodes !== null) return;
        const left = walk.send({ type: "list_nodes" });
        expect(left.ok && left.answer.nodes).toEqual([]);
      }),
      { seed: seed(), numRuns: runs(12) },
    );
  });
});
