import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PlacementEvent } from "../../../src/actors/placement/events.ts";
import type { Instant } from "../../../src/actors/placement/instant.ts";
import { createPlacement, type Placement } from "../../../src/actors/placement/state.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { AGGREGATE_SCENARIOS, MODEL_SCENARIOS } from "./scenarios.ts";
import { runs, seed, steps } from "./steps.ts";
import { type Scenario, Walk } from "./walk.ts";

/** The monotonic clock of the next process starts elsewhere. */
const NEXT_START_MS = 77;

/** As a log hands events back: by value. */
function replayed(scenario: Scenario, events: readonly PlacementEvent[], now: Instant): Placement {
  const placement = createPlacement(scenario.config, { random: seededRandom(12) }, now);
  placement.replay(JSON.parse(JSON.stringify(events)) as PlacementEvent[], now);
  return placement;
}

/** Durable state in words, without the end of leases, which a restart may move, and in one order. */
function durable(placement: Placement, now: Instant): string[] {
  return placement
    .snapshot(now)
    .map(({ change }) => JSON.stringify(change, (key, value) => (key === "leaseEndWallMs" ? undefined : value)))
    .sort();
}

describe("replaying what was emitted on an empty core gives the durable state", () => {
  const all = [...MODEL_SCENARIOS, ...AGGREGATE_SCENARIOS].map((scenario) => [scenario.name, scenario] as const);
  test.each(all)("%s", (_name, scenario) => {
    fc.assert(
      fc.property(steps(120), fc.nat(100_000), (sequence, downMs) => {
        const walk = new Walk(scenario, () => {});
        for (const step of sequence) walk.take(step);
        // What time alone has ended is an event of the next message.
        walk.send({ type: "tick" });
        const now = { nowMs: NEXT_START_MS, wallMs: walk.now.wallMs + downMs };
        const next = replayed(scenario, walk.events, now);
        expect(durable(next, now)).toEqual(durable(walk.placement, walk.now));
        const again = replayed(scenario, next.snapshot(now), now);
        expect(durable(again, now)).toEqual(durable(next, now));

        // A log outlives the configuration that it was written under.
        const unconfigured = { ...scenario, config: { ...scenario.config, nodes: null } };
        expect(durable(replayed(unconfigured, walk.events, now), now).length).toBe(durable(next, now).length);

        expectAnswersToOutlive(walk, next, now);
        expectLeasesWithinBounds(scenario, next, now);
        expectNodesToBeAwaited(walk, next, now);
      }),
      { seed: seed(), numRuns: runs(20) },
    );
  });
});

/** Each token and each request id means what it meant. */
function expectAnswersToOutlive(walk: Walk, next: Placement, now: Instant): void {
  for (const { view, request } of walk.attempts) {
    const before = walk.send({ type: "get_reservation", handle: view.token ?? view.id });
    const after = next.handle({ type: "get_reservation", handle: view.token ?? view.id }, now).reply;
    const [old, young] = [before, after].map((reply) => (reply.ok ? reply.answer.reservation : null));
    expect({ ...young, expiresAtUnixMs: null }).toEqual({ ...old, expiresAtUnixMs: null });
    if (request.requestId === null) continue;
    const repeat = next.handle(request, now).reply;
    expect(repeat.ok && repeat.answer.repeated && repeat.answer.reservation?.id).toBe(view.id);
  }
}

/** "a lease has what the wall clock leaves of it, at most a full one, at least `uncertain_ttl`". */
function expectLeasesWithinBounds({ config }: Scenario, next: Placement, now: Instant): void {
  for (const { status, leaseEndMs, terms, uncertain } of next.core.ledger.reservations.values()) {
    if (status !== "pending") continue;
    expect(leaseEndMs - now.nowMs).toBeGreaterThanOrEqual(config.uncertainTtlMs);
    const onLedger = next.core.fleet.nodes.get(terms.nodeId)?.ledger === true;
    const mostMs = uncertain && onLedger ? config.maxReservationAgeMs : config.placementReservationTtlMs;
    expect(leaseEndMs - now.nowMs).toBeLessThanOrEqual(mostMs);
  }
}

/** Cordons and conditions are back, and nothing is placed on a node that has not reported since. */
function expectNodesToBeAwaited(walk: Walk, next: Placement, now: Instant): void {
  const nodes = next.handle({ type: "list_nodes" }, now).reply;
  const before = walk.send({ type: "list_nodes" });
  const old = before.ok ? before.answer.nodes : [];
  for (const node of nodes.ok ? nodes.answer.nodes : []) {
    const was = old.find(({ nodeId }) => nodeId === node.nodeId);
    expect({ cordoned: node.cordoned, reason: node.cordonReason }).toEqual({
      cordoned: was?.cordoned,
      reason: was?.cordonReason,
    });
    expect(node.conditions.map(({ type }) => type).sort()).toEqual(was?.conditions.map(({ type }) => type).sort());
    expect(node.inFlight).toEqual(was?.inFlight);
    if (was?.lastSeenUnixMs !== null) expect(node.schedulable).toBe(false);
  }
}
