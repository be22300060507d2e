import { describe, expect, test } from "vitest";
import { NODE_NOT_LISTED } from "../../../src/messages/errors.ts";
import { CPU, World } from "./world.ts";

describe("5.1 parts", () => {
  test("a live daemon beside a dead runtime keeps no node a candidate", () => {
    const world = new World();
    world.report("a");
    world.pass(30_001);
    world.resource("a");
    expect(world.reasons({ hint: "none" })).toEqual({ unhealthy: 1 });
  });

  test("a daemon alone makes no candidate", () => {
    const world = new World();
    world.resource("a");
    expect(world.reasons({ hint: "none" })).toEqual({ unhealthy: 1 });
  });

  test("the parts report side by side, each with its own instance and sequence", () => {
    const world = new World();
    world.report("a", { allocatedCpuMillicores: CPU }, { sequence: 9 });
    expect(world.resource("a", { sequence: 1, memory: 0.5 })).toBe(2);
    expect(world.resource("a", { sequence: 2, memory: 0.6 })).toBe(3);
    expect(world.node("a")).toMatchObject({
      serviceInstanceId: "run-1",
      utilization: { memory: 0.6 },
      status: "READY",
    });
  });

  test("a ledger node lives by its daemon part; its first snapshot ends that for good", () => {
    const world = new World();
    world.resource("a", { inventoryNone: true, endpoint: null });
    expect(world.node("a")).toMatchObject({ accounting: "ledger", status: "READY", serviceInstanceId: "daemon-1" });
    expect(world.reserve().nodeId).toBe("a");
    world.report("a", {}, { sandboxIds: [] });
    expect(world.node("a")).toMatchObject({ accounting: "roster", serviceInstanceId: "run-1" });
    world.resource("a", { inventoryNone: true });
    expect(world.node("a").accounting).toBe("roster");
    world.pass(30_001);
    world.resource("a", { inventoryNone: true });
    expect(world.node("a").status).toBe("UNHEALTHY");
  });

  test("a node may be a ledger node by configuration", () => {
    const world = new World({ nodes: [{ nodeId: "a", endpoint: null, ledger: true }] });
    world.resource("a");
    expect(world.reserve().nodeId).toBe("a");
    expect(world.node("a").accounting).toBe("ledger");
  });

  test("static mode refuses heartbeats of others with the exact message, and ignores their events", () => {
    const world = new World({ nodes: [{ nodeId: "a", endpoint: "http://a", ledger: false }] });
    expect(world.refusal(world.heartbeatOf("b", {}))).toMatchObject({
      code: "invalid_argument",
      message: NODE_NOT_LISTED,
    });
    const events = { type: "sandbox_events", nodeId: "b", serviceInstanceId: "x", events: [] } as const;
    expect(world.ask(events)).toEqual({});
    expect(world.notices).toContainEqual({ type: "report_ignored", nodeId: "b", part: "events" });
    world.report("a", {}, { endpoint: "http://elsewhere" });
    expect(world.node("a").endpoint).toBe("http://a");
  });

  test("found by heartbeat, an endpoint is remembered and may change", () => {
    const world = new World();
    world.report("a");
    world.report("a", {}, { endpoint: null });
    expect(world.node("a").endpoint).toBe("http://a:8080");
    world.report("a", {}, { endpoint: "http://new" });
    expect(world.node("a").endpoint).toBe("http://new");
  });
});

describe("5.1 order", () => {
  test("a sequence at or below the last of the same instance is only a sign of life", () => {
    const world = new World();
    expect(world.report("a", { sandboxCount: 1 }, { sequence: 5 })).toBe(1);
    world.pass(20_000);
    expect(world.report("a", { sandboxCount: 7 }, { sequence: 5 })).toBe(1);
    expect(world.report("a", { sandboxCount: 8 }, { sequence: 4 })).toBe(1);
    expect(world.node("a").snapshot?.sandboxCount).toBe(1);
    world.pass(20_000);
    expect(world.node("a").status).toBe("READY");
    expect(world.report("a", { sandboxCount: 9 }, { sequence: 6 })).toBe(2);
    expect(world.notices.filter(({ type }) => type === "sign_of_life")).toHaveLength(2);
  });

  test("without a sequence, reported_at at or below the last by at most 60 s is one too", () => {
    const world = new World();
    const at = 1_000_000;
    expect(world.report("a", { reportedAtUnixMs: at })).toBe(1);
    expect(world.report("a", { reportedAtUnixMs: at })).toBe(1);
    expect(world.report("a", { reportedAtUnixMs: at - 60_000 })).toBe(1);
    expect(world.report("a", { reportedAtUnixMs: at - 60_001 })).toBe(2);
    expect(world.report("a", { reportedAtUnixMs: at - 60_000 })).toBe(3);
    expect(world.report("a", {})).toBe(4);
  });

  test("the node's clock is never compared with ours", () => {
    const world = new World();
    expect(world.report("a", { reportedAtUnixMs: 1 })).toBe(1);
    world.pass(1e9);
    expect(world.report("a", { reportedAtUnixMs: 2 })).toBe(2);
    expect(world.node("a").status).toBe("READY");
  });

  test("a superseded instance is ignored while the newer is fresh", () => {
    const world = new World();
    world.report("a", { sandboxCount: 1 }, { instance: "old" });
    world.report("a", { sandboxCount: 2 }, { instance: "new" });
    expect(world.report("a", { sandboxCount: 9 }, { instance: "old" })).toBe(2);
    expect(world.node("a").snapshot?.sandboxCount).toBe(2);
    expect(world.notices).toContainEqual({ type: "report_ignored", nodeId: "a", part: "runtime" });
    world.pass(30_001);
    expect(world.report("a", { sandboxCount: 3 }, { instance: "old" })).toBe(3);
    expect(world.node("a").serviceInstanceId).toBe("old");
    expect(world.notices.filter(({ type }) => type === "identity_conflict")).toHaveLength(1);
  });

  test("an ignored report keeps nothing alive", () => {
    const world = new World();
    world.report("a", {}, { instance: "old" });
    world.report("a", {}, { instance: "new" });
    world.pass(29_000);
    world.report("a", {}, { instance: "old" });
    world.pass(1_001);
    expect(world.node("a").status).toBe("UNHEALTHY");
  });

  test("more than was reserved or allowed is charged as reported; available is 0, shown as over the limit", () => {
    const world = new World();
    world.report("a", { allocatedCpuMillicores: 20 * CPU });
    expect(world.node("a")).toMatchObject({
      available: { cpuMillicores: 0 },
      overLimit: true,
      projected: { cpuMillicores: 20 * CPU },
    });
  });

  test("in-flight load is on top of the newest report: one sampled before a reservation gives nothing back", () => {
    const world = new World();
    world.report("a");
    world.reserve({ cpu: 8 });
    world.report("a", { allocatedCpuMillicores: 8 * CPU, sandboxCount: 1, createSuccesses: 1 });
    expect(world.node("a").projected.cpuMillicores).toBe(16 * CPU);
  });
});

describe("5.1 unregister", () => {
  test("must name the runtime's instance", () => {
    const world = new World();
    world.report("a");
    expect(world.refusal({ type: "unregister", nodeId: "a", serviceInstanceId: "x" })).toMatchObject({
      code: "conflict",
      message: "service instance mismatch",
    });
    expect(world.node("a").status).toBe("READY");
    world.ask({ type: "unregister", nodeId: "a", serviceInstanceId: "run-1" });
    expect(world.refusal({ type: "get_node", nodeId: "a" }).code).toBe("not_found");
    expect(world.ask({ type: "list_nodes" }).nodes).toEqual([]);
    expect(world.routes).toContainEqual({ type: "node_gone", nodeId: "a" });
  });

  test("never heard from: ok", () => {
    const world = new World();
    expect(world.ask({ type: "unregister", nodeId: "a", serviceInstanceId: "x" })).toEqual({});
  });

  test("heartbeats of the unregistered instance are ignored for 15 s, another's are not", () => {
    const world = new World();
    world.report("a");
    world.ask({ type: "unregister", nodeId: "a", serviceInstanceId: "run-1" });
    world.pass(14_999);
    expect(world.report("a")).toBe(1);
    expect(world.reasons({ hint: "none" })).toEqual({ unhealthy: 1 });
    world.pass(1);
    expect(world.report("a")).toBe(2);
    expect(world.hintless()).toBe("a");
    world.ask({ type: "unregister", nodeId: "a", serviceInstanceId: "run-1" });
    world.resource("a");
    expect(world.reasons({ hint: "none" })).toEqual({ unhealthy: 1 });
    world.report("a", {}, { instance: "run-2" });
    expect(world.hintless()).toBe("a");
  });
});

test("record_assignment needs a node known with that endpoint", () => {
  const world = new World();
  world.report("a");
  const record = { type: "record_assignment", sandboxId: "s", nodeId: "a" } as const;
  expect(world.refusal({ ...record, endpoint: "http://x" })).toMatchObject({
    code: "invalid_argument",
    message: NODE_NOT_LISTED,
  });
  world.ask({ ...record, endpoint: "http://a:8080" });
  expect(world.routes.at(-1)).toEqual({ type: "assigned", sandboxId: "s", nodeId: "a", source: "record" });
});
