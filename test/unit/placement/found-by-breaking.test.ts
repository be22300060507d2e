/** What somebody broke who set out to break the core, each as the shortest sequence that shows it. */
import { describe, expect, test } from "vitest";
import { violatedSums } from "../../../src/actors/placement/ledger/check-sums.ts";
import { CPU, GIB, World } from "./world.ts";

describe("2.1: a stall of the process excuses only the silence that it caused", () => {
  test("a node that was dead before it stays out; one that spoke before it stays in", () => {
    const world = new World();
    world.tick();
    world.report("dead");
    for (let second = 0; second < 40; second++) {
      world.pass(1_000);
      world.tick();
    }
    world.report("alive");
    expect(world.node("dead").status).toBe("UNHEALTHY");
    world.pass(20_000);
    expect(world.hintless()).toBe("alive");
    expect(world.node("dead").status).toBe("UNHEALTHY");
    expect(world.node("alive").status).toBe("READY");
  });

  test("it does not make a dead newer instance fresh, which an older one that lives may replace", () => {
    const world = new World();
    world.tick();
    world.report("a", {}, { instance: "older" });
    world.report("a", {}, { instance: "newer" });
    for (let second = 0; second < 40; second++) {
      world.pass(1_000);
      world.tick();
    }
    world.pass(20_000);
    world.report("a", {}, { instance: "older" });
    expect(world.node("a").status).toBe("READY");
  });
});

describe("2.6: a decimal overcommit promises what it says", () => {
  test.each([
    [1.15, 115],
    [0.29, 29],
    [1, 100],
    [1.1, 110],
  ])("100 cores at %f take %d sandboxes of one core", (ratio, fit) => {
    const world = new World({ overcommit: { cpu: ratio, memory: 1 } });
    world.report("a", { cpuCapacityMillicores: 100 * CPU, memoryCapacityBytes: 1000 * GIB });
    for (let count = 0; count < fit; count++) world.reserve({ cpu: 1 });
    expect(world.reasons({ cpu: 1 })).toEqual({ "insufficient cpu in flight": 1 });
    expect(world.node("a").available.cpuMillicores).toBe(0);
  });
});

describe("2.4: measured percentages compare as real numbers, the daemon's too", () => {
  test.each([
    [0.55, 55],
    [0.07, 7],
    [0.14, 14],
    [0.28, 28],
    [0.56, 56],
  ])("%f does not exceed %d", (ratio, maximum) => {
    const world = new World();
    const limited = new World({
      nodeResourceLimit: { ...world.config.nodeResourceLimit, maxCpuUsedPercent: maximum },
    });
    limited.resource("a", { cpu: ratio, inventoryNone: true });
    expect(limited.reserve().nodeId).toBe("a");
    limited.resource("a", { cpu: ratio + 0.0099, inventoryNone: true });
    expect(limited.reasons()).toEqual({ "limit max_cpu_used_percent": 1 });
  });
});

test("5.4: a binding that is taken back from a node that is gone is pending nowhere", () => {
  const world = new World({ nodeForgetTtlMs: 60_000 });
  world.tick();
  world.report("n1", {}, { sandboxIds: [] });
  const unmanaged = world.reserve({ managed: false });
  world.event("n1", "CREATE", "sb");
  for (let second = 0; second < 61; second++) {
    world.pass(1_000);
    world.tick();
  }
  expect(world.state(unmanaged)).toBe("released");
  world.report("n2", {}, { sandboxIds: [] });
  const mine = world.reserve();
  expect(world.confirm(mine, "sb").state).toBe("confirmed");
  expect(world.state(unmanaged)).toBe("expired");
  expect(violatedSums(world.placement.core.ledger)).toEqual([]);
});

describe("a node's events speak for its own sandboxes", () => {
  test("another node's DELETE of the id ends no confirm here", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const mine = world.reserve();
    world.report("b", {}, { sandboxIds: [] });
    world.event("b", "DELETE", "x");
    expect(world.confirm(mine, "x").state).toBe("confirmed");
    expect(world.inFlight("a").count).toBe(1);
  });

  test("another node's FORK of the id is no conflict here; the own one's is", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const mine = world.reserve();
    const other = world.reserve();
    world.report("b", {}, { sandboxIds: [] });
    world.event("b", "FORK", "x");
    expect(world.confirm(mine, "x").state).toBe("confirmed");
    world.event("a", "FORK", "y");
    expect(world.confirmRefusal(other, "y").code).toBe("conflict");
  });

  test("a caller's deletion speaks for every node, and all of it survives a restart", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const mine = world.reserve();
    const other = world.reserve();
    world.report("b", {}, { sandboxIds: [] });
    world.event("b", "DELETE", "x");
    world.ask({ type: "release_sandbox", sandboxId: "y" });
    const next = world.restart();
    next.report("a", {}, { sandboxIds: [] });
    expect(next.confirm(mine, "x").state).toBe("confirmed");
    expect(next.confirm(other, "y").state).toBe("released");
  });
});

test("4: the roster of a former instance spares no late confirm its fit test", () => {
  const world = new World();
  const oneCore = { cpuCapacityMillicores: CPU };
  world.report("a", oneCore, { instance: "i1", sandboxIds: ["x"] });
  const mine = world.reserve({ cpu: 1 });
  world.pass(120_000);
  world.report("a", { ...oneCore, allocatedCpuMillicores: CPU }, { instance: "i2" });
  expect(world.state(mine)).toBe("expired");
  expect(world.confirmRefusal(mine, "x").code).toBe("expired");
});

test("5.2: a stray report of a boot that is over is no reboot", () => {
  const world = new World();
  world.resource("a", { bootId: "b1", instance: "d1", inventoryNone: true });
  world.resource("a", { bootId: "b2", instance: "d2", inventoryNone: true });
  const mine = world.confirm(world.reserve(), "sb");
  world.resource("a", { bootId: "b2", instance: "d2", inventoryNone: true });
  world.pass(31_000);
  world.resource("a", { bootId: "b1", instance: "d1", inventoryNone: true });
  expect(world.state(mine)).toBe("confirmed");
  world.resource("a", { bootId: "b3", instance: "d3", inventoryNone: true });
  expect(world.state(mine)).toBe("released");
});

test("4: an uncertain one has no more than uncertainTtl once a runtime ends the ledger node", () => {
  const world = new World();
  world.resource("a", { bootId: "b1", inventoryNone: true });
  const mine = world.uncertain(world.reserve());
  expect((mine.expiresAtUnixMs ?? 0) - world.wallMs).toBe(3_600_000);
  world.pass(10_000);
  world.report("a");
  expect((world.get(mine).expiresAtUnixMs ?? 0) - world.wallMs).toBe(60_000);
});

test("5.5: what is confirmed on a ledger node can be looked up for as long as it is charged", () => {
  const world = new World();
  world.resource("a", { bootId: "b1", inventoryNone: true });
  world.confirm(world.reserve(), "sb");
  world.resource("a", { bootId: "b1", inventoryNone: true });
  expect(world.routes.at(-1)).toEqual({ type: "roster", nodeId: "a", sandboxIds: ["sb"] });
  world.ask({ type: "release_sandbox", sandboxId: "sb" });
  world.resource("a", { bootId: "b1", inventoryNone: true });
  expect(world.routes.at(-1)).toEqual({ type: "roster", nodeId: "a", sandboxIds: [] });
});
