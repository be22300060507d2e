/** What the model of `test/property/placement` found in the core, each as the shortest sequence that shows it. */
import { describe, expect, test } from "vitest";
import type { ReservationView } from "../../../src/messages/placement.ts";
import { World } from "./world.ts";

describe("5.1: a node that has unregistered stays away until a new instance of it reports", () => {
  test("a late heartbeat of an instance that was superseded does not bring it back", () => {
    const world = new World();
    world.report("a", {}, { instance: "run-1", sandboxIds: [] });
    world.report("a", {}, { instance: "run-2", sandboxIds: [] });
    world.ask({ type: "unregister", nodeId: "a", serviceInstanceId: "run-2" });
    world.report("a", {}, { instance: "run-1", sandboxIds: [] });
    expect(world.reasons()).toEqual({ unhealthy: 1 });
    world.report("a", {}, { instance: "run-3", sandboxIds: [] });
    expect(world.hintless()).toBe("a");
  });

  test("nor does one of the instance that had unregistered before the last", () => {
    const world = new World();
    for (const instance of ["run-1", "run-2"]) {
      world.report("a", {}, { instance, sandboxIds: [] });
      world.ask({ type: "unregister", nodeId: "a", serviceInstanceId: instance });
    }
    world.report("a", {}, { instance: "run-1", sandboxIds: [] });
    expect(world.reasons()).toEqual({ unhealthy: 1 });
  });
});

describe("5.4: what a CREATE event filled in stays known when its orphan is confirmed again", () => {
  /** Of unknown CPU, bound and filled in with 2 CPU, and ended since no roster lists its sandbox. */
  function orphan(world: World): ReservationView {
    world.report("a", {}, { sandboxIds: [] });
    const reservation = world.reserve({ cpuMillicores: null });
    expect(reservation.cpuMillicores).toBe(0);
    world.uncertain(reservation);
    world.event("a", "CREATE", "sandbox", { cpu: 2 });
    expect(world.confirm(reservation, "sandbox").cpuMillicores).toBe(2000);
    world.report("a", {}, { sandboxIds: [] });
    world.pass(15_000);
    world.report("a", {}, { sandboxIds: [] });
    expect(world.state(reservation)).toBe("expired");
    return reservation;
  }

  test("as its charge", () => {
    const world = new World();
    const again = world.confirm(orphan(world), "sandbox");
    expect(again).toMatchObject({ state: "confirmed", late: true, cpuMillicores: 2000 });
  });

  test("and as what must fit", () => {
    const world = new World();
    const reservation = orphan(world);
    world.reserve({ cpu: 15 });
    expect(world.confirmRefusal(reservation, "sandbox").code).toBe("expired");
  });
});

test("6: a condition cleared by hand needs as many samples to come back, however long it had lasted", () => {
  const world = new World();
  world.report("a", {}, { sandboxIds: [] });
  const conditionsAfter = (samples: number): string[] => {
    for (let sample = 0; sample < samples; sample++) world.resource("a", { cpu: 0.95 });
    return world.node("a").conditions.map(({ type }) => type);
  };
  expect(conditionsAfter(9)).toEqual(["CPU_PRESSURE"]);
  world.ask({ type: "clear_condition", nodeId: "a", condition: "CPU_PRESSURE" });
  expect(conditionsAfter(5)).toEqual([]);
  expect(conditionsAfter(1)).toEqual(["CPU_PRESSURE"]);
});

test("7: the cordon of a configured node that was never heard outlives a restart, also under another configuration", () => {
  const nodes = [{ nodeId: "a", endpoint: "http://a:8080", ledger: false }];
  const world = new World({ nodes });
  world.ask({ type: "cordon", nodeId: "a", reason: "by hand" });
  expect(world.restart().node("a").cordoned).toBe(true);

  const elsewhere = new World();
  elsewhere.placement.replay(structuredClone(world.events), elsewhere.now);
  expect(elsewhere.node("a").cordoned).toBe(true);
  const fromSnapshot = new World({ nodes });
  fromSnapshot.placement.replay(world.placement.snapshot(world.now), fromSnapshot.now);
  expect(fromSnapshot.node("a").cordoned).toBe(true);
});
