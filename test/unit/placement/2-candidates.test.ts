import { describe, expect, test } from "vitest";
import { CPU, GIB, limits, World } from "./world.ts";

describe("1. requests", () => {
  test("64 hintless requests reserve nothing and charge nothing", () => {
    const world = new World();
    world.report("a");
    for (let index = 0; index < 64; index++) expect(world.schedule({ hint: "none" }).reservation).toBeNull();
    expect(
      world.ask({ type: "list_reservations", nodeId: null, state: null, limit: 10, cursor: null }).reservations,
    ).toEqual([]);
    expect(world.inFlight("a")).toEqual({ cpuMillicores: 0, memoryBytes: 0, count: 0 });
    expect(world.events.filter(({ change }) => change.type === "reserved")).toEqual([]);
  });

  test("a cold creation is charged its demand", () => {
    const world = new World();
    world.report("a");
    const reservation = world.reserve({ cpu: 2, memoryGib: 4 });
    expect([reservation.cpuMillicores, reservation.memoryBytes]).toEqual([2 * CPU, 4 * GIB]);
    expect(world.inFlight("a")).toEqual({ cpuMillicores: 2 * CPU, memoryBytes: 4 * GIB, count: 1 });
  });

  test("a template creation is charged the observed mean, rounded up, fixed when it is made", () => {
    const world = new World();
    world.report("a", {
      allocatedCpuMillicores: 3500,
      allocatedMemoryBytes: 10,
      sandboxCount: 2,
      sandboxStartingCount: 1,
    });
    const template = { hint: "new_sandbox", cpuMillicores: null, memoryBytes: null } as const;
    const first = world.reserve(template);
    expect([first.cpuMillicores, first.memoryBytes]).toEqual([1167, 4]);
    world.report("a", { allocatedCpuMillicores: 9000, sandboxCount: 3 });
    expect(world.get(first).cpuMillicores).toBe(1167);
  });

  test("observed is nothing where nothing runs; fixed numbers and none are as they say", () => {
    const template = { hint: "new_sandbox", cpuMillicores: null, memoryBytes: null } as const;
    const observed = new World();
    observed.report("a");
    expect(observed.reserve(template).cpuMillicores).toBe(0);
    const fixed = new World({ assumedResources: { cpu: 500, memory: "none" } });
    fixed.report("a", { allocatedMemoryBytes: GIB, sandboxCount: 1 });
    const reservation = fixed.reserve(template);
    expect([reservation.cpuMillicores, reservation.memoryBytes]).toEqual([500, 0]);
  });

  test("an unmanaged one has no token, a managed one has", () => {
    const world = new World();
    world.report("a");
    expect(world.reserve({ managed: false }).token).toBeNull();
    expect(world.reserve().token).toMatch(/^rt_[A-Za-z0-9_-]{41}$/);
  });
});

describe("2.1 lifecycle", () => {
  test("unhealthy after reportTtl without a runtime report, judged at the decision", () => {
    const world = new World();
    world.report("a");
    world.pass(30_000);
    expect(world.hintless()).toBe("a");
    world.pass(1);
    expect(world.reasons({ hint: "none" })).toEqual({ unhealthy: 1 });
    expect(world.node("a").status).toBe("UNHEALTHY");
  });

  test("lingering and unregistered nodes are out, and what runs on them stays charged", () => {
    const world = new World();
    world.report("a");
    world.report("b");
    world.reserve({ excludeNodeIds: ["b"] });
    world.report("b", { status: "LINGERING" });
    world.ask({ type: "unregister", nodeId: "a", serviceInstanceId: "run-1" });
    expect(world.reasons()).toEqual({ lingering: 1, unhealthy: 1 });
    expect(world.inFlight("a").count).toBe(1);
  });

  test("CONNECTING is a candidate", () => {
    const world = new World();
    world.report("a", { status: "CONNECTING" });
    expect(world.hintless()).toBe("a");
  });

  test("a node never heard from ranks last, or is out", () => {
    const nodes = [
      { nodeId: "a", endpoint: "http://a", ledger: false },
      { nodeId: "z", endpoint: "http://z", ledger: false },
    ];
    const last = new World({ nodes, startGuardMs: 0 });
    last.report("z", { allocatedCpuMillicores: 15 * CPU, sandboxCount: 9 });
    expect(last.reserve().nodeId).toBe("z");
    expect(last.reserve().nodeId).toBe("a");
    const never = new World({ nodes, startGuardMs: 0, unknownNodes: "never" });
    expect(never.reasons()).toEqual({ awaited: 2 });
  });

  test("a node known from before a restart is awaited until it reports again", () => {
    const before = new World();
    before.report("a");
    const world = before.restart();
    world.pass(10_000);
    expect(world.reasons()).toEqual({ awaited: 1 });
    world.report("a");
    expect(world.reserve().nodeId).toBe("a");
  });

  test("an unregistered node is not awaited, nor is one that was only configured", () => {
    const before = new World();
    before.report("a");
    before.report("b");
    before.ask({ type: "unregister", nodeId: "b", serviceInstanceId: "run-1" });
    const world = before.restart();
    world.report("a");
    expect(world.reserve().nodeId).toBe("a");
    expect(world.reasons({ excludeNodeIds: ["a"] })).toEqual({ excluded: 1, unhealthy: 1 });
    const nodes = [{ nodeId: "c", endpoint: "http://c", ledger: false }];
    const configured = new World({ nodes, startGuardMs: 0 }).restart();
    expect(configured.reserve().nodeId).toBe("c");
  });

  test("a configured node that was reserved on before it was heard is awaited after a restart", () => {
    const nodes = [{ nodeId: "c", endpoint: "http://c", ledger: false }];
    const before = new World({ nodes, startGuardMs: 0 });
    before.reserve();
    const world = before.restart();
    expect(world.reasons()).toEqual({ awaited: 1 });
    expect(world.inFlight("c").count).toBe(1);
  });

  test("creations wait until all awaited or configured nodes have reported, at most startGuard", () => {
    const before = new World();
    before.report("a");
    before.report("b");
    const world = before.restart();
    world.report("a");
    expect(world.refusal(world.request())).toMatchObject({ code: "unavailable", details: { retry: "unchanged" } });
    expect(world.hintless()).toBe("a");
    expect(world.placement.isPastStartGuard(world.now)).toBe(false);
    world.report("b");
    expect(world.reserve().state).toBe("pending");
    const slow = before.restart();
    slow.report("a");
    slow.pass(9_999);
    expect(slow.refusal(slow.request()).code).toBe("unavailable");
    slow.pass(1);
    expect(slow.reserve().nodeId).toBe("a");
  });

  test("an empty fleet is not guarded", () => {
    const world = new World();
    expect(world.placement.isPastStartGuard(world.now)).toBe(true);
    expect(world.refusal(world.request())).toMatchObject({ code: "no_nodes", details: { nodes: 0 } });
  });

  test("after a stall longer than half of reportTtl silence counts from its end", () => {
    const world = new World();
    world.tick();
    world.report("a");
    world.pass(40_000);
    expect(world.hintless()).toBe("a");
    expect(world.notices).toContainEqual({ type: "stalled", silentMs: 40_000 });
    for (let second = 0; second < 30; second++) {
      world.pass(1_000);
      world.tick();
    }
    expect(world.hintless()).toBe("a");
    world.pass(1);
    expect(world.reasons({ hint: "none" })).toEqual({ unhealthy: 1 });
  });

  test("a pause of exactly half of reportTtl is no stall", () => {
    const world = new World();
    world.tick();
    world.report("a");
    world.pass(15_000);
    world.tick();
    world.pass(15_001);
    // The second pause is longer than half: it is one, and keeps the node.
    expect(world.hintless()).toBe("a");
    expect(world.notices.filter(({ type }) => type === "stalled")).toHaveLength(1);
  });
});

describe("2.2 and 2.3", () => {
  test("cordoned nodes are out until uncordoned", () => {
    const world = new World();
    world.report("a");
    expect(world.ask({ type: "cordon", nodeId: "a", reason: "disk swap" }).node.cordoned).toBe(true);
    expect(world.reasons()).toEqual({ cordoned: 1 });
    world.ask({ type: "uncordon", nodeId: "a" });
    expect(world.reserve().nodeId).toBe("a");
  });

  test("a node under a condition is out, or behind, by its action", () => {
    const rule = { enterAt: 0.9, enterSamples: 1, recoverBelow: 0.8, recoverSamples: 1, action: "exclude" } as const;
    const pressure = { cpu: rule, memory: rule, pid: rule, fd: rule, disk: rule };
    const excluding = new World({ pressure });
    excluding.report("a");
    excluding.resource("a", { memory: 0.95 });
    expect(excluding.reasons()).toEqual({ MEMORY_PRESSURE: 1 });
    const demoting = new World({ pressure: { ...pressure, memory: { ...rule, action: "demote" } } });
    demoting.report("a");
    demoting.report("b", { allocatedCpuMillicores: 12 * CPU });
    demoting.resource("a", { memory: 0.95 });
    expect(demoting.reserve().nodeId).toBe("b");
    expect(demoting.reserve({ excludeNodeIds: ["b"] }).nodeId).toBe("a");
  });
});

describe("2.4 limits", () => {
  test("8 nodes of at most 50 sandboxes, 400 requests between two reports: never more than 50 on one", () => {
    const world = new World({ nodeResourceLimit: limits({ maxSandboxCount: 50 }) });
    for (let index = 0; index < 8; index++) {
      world.report(`n${index}`, {
        cpuCapacityMillicores: 1000 * CPU,
        memoryCapacityBytes: 1000 * GIB,
        sandboxCount: index,
      });
    }
    const placed = new Map<string, number>();
    let refused = 0;
    for (let index = 0; index < 400; index++) {
      const reply = world.placement.handle(world.request(), world.now).reply;
      if (reply.ok) placed.set(reply.answer.node.nodeId, (placed.get(reply.answer.node.nodeId) ?? 0) + 1);
      else refused += 1;
    }
    for (let index = 0; index < 8; index++) expect(placed.get(`n${index}`)).toBe(50 - index);
    expect(refused).toBe(28);
    expect(world.reasons()).toEqual({ "limit max_sandbox_count": 8 });
  });

  test("there = running + starting + pending + confirmed; starting = starting + pending", () => {
    const world = new World({ nodeResourceLimit: limits({ maxSandboxCount: 4, maxSandboxStartingCount: 2 }) });
    world.report("a", { sandboxCount: 1, sandboxStartingCount: 1 });
    const reservation = world.reserve();
    expect(world.reasons()).toEqual({ "limit max_sandbox_starting_count": 1 });
    world.confirm(reservation, "s1");
    world.reserve();
    expect(world.reasons()).toEqual({ "limit max_sandbox_count": 1 });
  });

  test("0 accepts nothing, an unset limit limits nothing", () => {
    for (const set of [
      { maxSandboxCount: 0 },
      { maxSandboxStartingCount: 0 },
      { maxCpuUsedPercent: 0 },
      { maxCpuAllocatedPercent: 0 },
      { maxMemoryUsedPercent: 0 },
      { maxMemoryAllocatedPercent: 0 },
      { maxSandboxCountIncludingPaused: 0 },
      { maxAllocatedCpuMillicoresIncludingPaused: 0 },
      { maxAllocatedMemoryBytesIncludingPaused: 0 },
    ]) {
      const world = new World({ nodeResourceLimit: limits(set) });
      world.report("a");
      expect(world.refusal(world.request({ cpuMillicores: null, memoryBytes: null })).code, JSON.stringify(set)).toBe(
        "no_nodes",
      );
      expect(world.hintless()).toBe("a");
    }
    const world = new World();
    world.report("a", { sandboxCount: 1_000_000, cpuPercent: 100 });
    expect(world.reserve().nodeId).toBe("a");
  });

  test("allocated percentages hold after the creation, in flight included", () => {
    const world = new World({
      nodeResourceLimit: limits({ maxCpuAllocatedPercent: 50, maxMemoryAllocatedPercent: 90 }),
    });
    world.report("a", { allocatedCpuMillicores: 4 * CPU });
    world.reserve({ cpu: 2 });
    world.reserve({ cpu: 2 });
    expect(world.reasons({ cpu: 1 })).toEqual({ "limit max_cpu_allocated_percent": 1 });
    expect(world.reasons({ cpuMillicores: null })).toEqual({ "limit max_cpu_allocated_percent": 1 });
    world.report("b");
    expect(world.reserve({ cpu: 1, memoryGib: 57, excludeNodeIds: ["a"] }).nodeId).toBe("b");
    expect(world.reasons({ cpu: 1, memoryGib: 1, excludeNodeIds: ["a"] })).toEqual({
      "limit max_cpu_allocated_percent": 1,
      "limit max_memory_allocated_percent": 1,
    });
  });

  test("including paused, paused ones count whole", () => {
    const paused = {
      pausedSandboxCount: 3,
      pausedAllocatedCpuMillicores: 6 * CPU,
      pausedAllocatedMemoryBytes: 6 * GIB,
    };
    for (const [set, name] of [
      [{ maxSandboxCountIncludingPaused: 4 }, "limit max_sandbox_count_including_paused"],
      [{ maxAllocatedCpuMillicoresIncludingPaused: 7 * CPU }, "limit max_allocated_cpu_including_paused"],
      [{ maxAllocatedMemoryBytesIncludingPaused: 7 * GIB }, "limit max_allocated_memory_bytes_including_paused"],
    ] as const) {
      const world = new World({ nodeResourceLimit: limits(set), pausedWeight: { cpu: 0, memory: 0 } });
      world.report("a", paused);
      world.reserve();
      expect(world.reasons()).toEqual({ [name]: 1 });
    }
  });

  test("measured percentages compare as real numbers: 90.99 exceeds 90", () => {
    const world = new World({ nodeResourceLimit: limits({ maxMemoryUsedPercent: 90 }) });
    world.report("a", { memoryUsedBytes: 9099, memoryCapacityBytes: 10_000 });
    expect(world.reasons({ memoryBytes: 1 })).toEqual({ "limit max_memory_used_percent": 1 });
    world.report("a", { memoryUsedBytes: 9000, memoryCapacityBytes: 10_000 });
    expect(world.reserve({ memoryBytes: 1 }).nodeId).toBe("a");
  });

  test("a set limit that needs a figure nobody reported excludes from creations only", () => {
    const world = new World({ nodeResourceLimit: limits({ maxCpuUsedPercent: 90 }) });
    world.report("a", { cpuCapacityMillicores: 0, cpuPercent: 5 });
    expect(world.reasons()).toEqual({ "limit max_cpu_used_percent": 1 });
    expect(world.hintless()).toBe("a");
    world.resource("a", { cpu: 0.5 });
    expect(world.reserve().nodeId).toBe("a");
  });

  test("other requests: out when already above", () => {
    const world = new World({ nodeResourceLimit: limits({ maxSandboxCount: 2 }) });
    world.report("a", { sandboxCount: 2 });
    expect(world.hintless()).toBe("a");
    world.report("a", { sandboxCount: 3 });
    expect(world.reasons({ hint: "none" })).toEqual({ "limit max_sandbox_count": 1 });
  });

  test("live reservations on a node are bounded", () => {
    const world = new World({ livePerNodeMax: 2 });
    world.report("a");
    world.reserve();
    world.reserve();
    expect(world.reasons()).toEqual({ "too many reservations": 1 });
  });
});

describe("2.5 and 2.6 exclusions and capacity", () => {
  test("excluded by the request", () => {
    const world = new World();
    world.report("a");
    expect(world.reasons({ excludeNodeIds: ["a"] })).toEqual({ excluded: 1 });
  });

  test("full to the last millicore and byte, and not beyond", () => {
    const world = new World();
    world.report("a", { allocatedCpuMillicores: 15 * CPU });
    expect(world.reasons({ cpuMillicores: 1001 })).toEqual({ "insufficient cpu": 1 });
    world.reserve({ cpu: 1 });
    expect(world.reasons({ cpuMillicores: 1 })).toEqual({ "insufficient cpu in flight": 1 });
    world.report("b", { allocatedMemoryBytes: 64 * GIB });
    expect(world.reasons({ memoryBytes: 1, excludeNodeIds: ["a"] })).toEqual({ excluded: 1, "insufficient memory": 1 });
  });

  test("a template creation needs room in both known dimensions, however little", () => {
    const template = { hint: "new_sandbox", cpuMillicores: null, memoryBytes: null } as const;
    const world = new World();
    world.report("cpu-full", { allocatedCpuMillicores: 16 * CPU });
    world.report("memory-full", { allocatedMemoryBytes: 64 * GIB });
    expect(world.reasons(template)).toEqual({ "insufficient cpu": 1, "insufficient memory": 1 });
    world.report("cpu-full", { allocatedCpuMillicores: 16 * CPU - 1 });
    expect(world.reserve(template).nodeId).toBe("cpu-full");
  });

  test("capacity 0 means not in this report: the last positive one stays in force", () => {
    const world = new World();
    world.report("a");
    world.report("a", { cpuCapacityMillicores: 0, memoryCapacityBytes: 0, allocatedCpuMillicores: 16 * CPU });
    expect(world.reasons()).toEqual({ "insufficient cpu": 1 });
    expect(world.node("a").capacity).toEqual({ cpuMillicores: 16 * CPU, memoryBytes: 64 * GIB });
  });

  test("a dimension never known excludes nothing", () => {
    const world = new World();
    world.report("a", { cpuCapacityMillicores: 0, allocatedCpuMillicores: 900 * CPU });
    expect(world.reserve().nodeId).toBe("a");
    expect(world.reasons({ memoryGib: 65 })).toEqual({ "insufficient memory": 1 });
  });

  test("the snapshot's capacity where it has ever given one, else the daemon's", () => {
    const world = new World();
    world.report("a", { cpuCapacityMillicores: 0, memoryCapacityBytes: 0 });
    world.resource("a", { cpuMillicores: 4 * CPU, memoryBytes: 8 * GIB });
    expect(world.node("a").capacity).toEqual({ cpuMillicores: 4 * CPU, memoryBytes: 8 * GIB });
    world.report("a", { cpuCapacityMillicores: 6 * CPU, memoryCapacityBytes: 0 });
    world.resource("a", { cpuMillicores: 5 * CPU, memoryBytes: 9 * GIB });
    expect(world.node("a").capacity).toEqual({ cpuMillicores: 6 * CPU, memoryBytes: 9 * GIB });
    world.report("a", { cpuCapacityMillicores: 0, memoryCapacityBytes: 7 * GIB });
    world.resource("a", { cpuMillicores: 5 * CPU, memoryBytes: 9 * GIB });
    expect(world.node("a").capacity).toEqual({ cpuMillicores: 6 * CPU, memoryBytes: 7 * GIB });
  });

  test("overcommit scales promises and paused weight what paused ones hold, never measurements", () => {
    const world = new World({
      overcommit: { cpu: 2, memory: 1 },
      pausedWeight: { cpu: 0.5, memory: 1 },
      nodeResourceLimit: limits({ maxCpuUsedPercent: 90 }),
    });
    world.report("a", { pausedAllocatedCpuMillicores: 40 * CPU });
    world.reserve({ cpu: 12 });
    expect(world.reasons({ cpuMillicores: 1 })).toEqual({ "insufficient cpu in flight": 1 });
    world.report("b", { cpuPercent: 91 });
    expect(world.reasons({ excludeNodeIds: ["a"] })).toEqual({ excluded: 1, "limit max_cpu_used_percent": 1 });
  });

  test("the refusal counts each node once, and tells what paused ones hold", () => {
    const world = new World();
    world.report("a", {
      cpuCapacityMillicores: 64 * CPU,
      allocatedCpuMillicores: 6 * CPU,
      pausedAllocatedCpuMillicores: 58 * CPU,
    });
    world.report("b", { allocatedCpuMillicores: 16 * CPU, allocatedMemoryBytes: 64 * GIB });
    world.report("c", { status: "LINGERING" });
    world.ask({ type: "cordon", nodeId: "c", reason: null });
    const refusal = world.refusal(world.request());
    expect(refusal.message).toBe(
      "no nodes available: 2 insufficient cpu, 1 lingering; insufficient cpu: 58 of 80 paused",
    );
    expect(refusal.details).toMatchObject({ reasons: { "insufficient cpu": 2, lingering: 1 }, nodes: 3 });
  });

  test("a refused request leaves no trace in any sum", () => {
    const world = new World();
    world.report("a");
    const before = world.node("a");
    expect(world.refusal(world.request({ cpu: 17, requestId: "r1" })).code).toBe("no_nodes");
    expect(world.node("a")).toEqual(before);
    expect(world.reserve({ cpu: 16, requestId: "r1" }).state).toBe("pending");
  });

  test("no endpoint: no candidate, unless a ledger node; and that is none for unmanaged creations", () => {
    const world = new World();
    world.report("a", {}, { endpoint: null });
    expect(world.reasons({ hint: "none" })).toEqual({ "no endpoint": 1 });
    world.resource("l", { inventoryNone: true, endpoint: null });
    expect(world.reserve().nodeId).toBe("l");
    expect(world.reasons({ managed: false })).toEqual({ ledger: 1, "no endpoint": 1 });
    expect(world.hintless()).toBe("l");
  });
});
