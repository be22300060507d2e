import { describe, expect, test } from "vitest";
import { CPU, GIB, limits, World } from "./world.ts";

describe("a node as shown", () => {
  test("capacity, projected, available and reservations, in the sums' own integers", () => {
    const world = new World({ overcommit: { cpu: 2, memory: 1 }, pausedWeight: { cpu: 0.5, memory: 1 } });
    world.heartbeat("a", {
      clusterId: "c1",
      version: "1.2",
      snapshot: {
        ...({ status: "CONNECTING", cpuPercent: 12, memoryUsedBytes: 5, createSuccesses: 3, createFails: 1 } as const),
        allocatedCpuMillicores: 4 * CPU,
        allocatedMemoryBytes: 8 * GIB,
        cpuCapacityMillicores: 16 * CPU,
        memoryCapacityBytes: 64 * GIB,
        sandboxCount: 3,
        sandboxStartingCount: 1,
        reportedAtUnixMs: null,
        pausedSandboxCount: 2,
        pausedAllocatedCpuMillicores: 2 * CPU,
        pausedAllocatedMemoryBytes: 4 * GIB,
        disks: [],
      },
    });
    const confirmed = world.reserve({ cpu: 2, memoryGib: 2 });
    world.confirm(confirmed, "s1");
    world.reserve();
    const seenMs = world.wallMs;
    world.pass(1_500);
    expect(world.node("a")).toMatchObject({
      nodeId: "a",
      clusterId: "c1",
      version: "1.2",
      status: "CONNECTING",
      schedulable: true,
      reasons: [],
      capacity: { cpuMillicores: 16 * CPU, memoryBytes: 64 * GIB },
      projected: { cpuMillicores: 8 * CPU, memoryBytes: 15 * GIB, starting: 2, pressure: 0.25 },
      available: { cpuMillicores: 24 * CPU, memoryBytes: 49 * GIB },
      overLimit: false,
      reservations: { pending: 1, confirmed: 1 },
      inFlight: { cpuMillicores: 3 * CPU, memoryBytes: 3 * GIB, count: 2 },
      demoted: false,
      generation: 1,
      lastSeenUnixMs: seenMs,
    });
  });

  test("what was never known is null, never 0", () => {
    const world = new World({ nodes: [{ nodeId: "a", endpoint: "http://a", ledger: false }] });
    expect(world.node("a")).toMatchObject({
      status: "CONNECTING",
      snapshot: null,
      utilization: null,
      capacity: { cpuMillicores: null, memoryBytes: null },
      available: { cpuMillicores: null, memoryBytes: null },
      projected: { pressure: null },
      lastSeenUnixMs: null,
      generation: 0,
      serviceInstanceId: null,
    });
  });

  test("reasons say what keeps requests out, each once", () => {
    const world = new World();
    world.report("a", { allocatedCpuMillicores: 6 * CPU, pausedAllocatedCpuMillicores: 10 * CPU });
    expect(world.node("a")).toMatchObject({
      schedulable: true,
      reasons: ["insufficient cpu", "insufficient cpu: 10 of 16 paused"],
    });
    world.ask({ type: "cordon", nodeId: "a", reason: null });
    expect(world.node("a")).toMatchObject({ schedulable: false });
    expect(world.node("a").reasons[0]).toBe("cordoned");
    world.pass(30_001);
    expect(world.node("a").reasons.slice(0, 2)).toEqual(["unhealthy", "cordoned"]);
  });

  test("an unregistered node is shown only while something there is charged", () => {
    const world = new World();
    world.report("a");
    const mine = world.reserve();
    world.ask({ type: "unregister", nodeId: "a", serviceInstanceId: "run-1" });
    expect(world.node("a")).toMatchObject({ status: "UNHEALTHY", schedulable: false, reasons: ["unregistered"] });
    expect(world.ask({ type: "list_nodes" }).nodes).toHaveLength(1);
    world.cancel(mine);
    expect(world.ask({ type: "list_nodes" }).nodes).toHaveLength(0);
  });

  test("an awaited node is unhealthy, with its reason", () => {
    const before = new World();
    before.report("a");
    expect(before.restart().node("a")).toMatchObject({
      status: "UNHEALTHY",
      reasons: ["awaited"],
      lastSeenUnixMs: null,
    });
  });

  test("nodes are listed by id", () => {
    const world = new World();
    for (const nodeId of ["c", "a", "b"]) world.report(nodeId);
    expect(world.ask({ type: "list_nodes" }).nodes.map(({ nodeId }) => nodeId)).toEqual(["a", "b", "c"]);
  });

  test("an unknown node: not_found, for every call that names one", () => {
    const world = new World();
    for (const message of [
      { type: "get_node", nodeId: "x" },
      { type: "cordon", nodeId: "x", reason: null },
      { type: "uncordon", nodeId: "x" },
    ] as const) {
      expect(world.refusal(message).code).toBe("not_found");
    }
  });

  test("cordon and uncordon again change nothing; another reason does", () => {
    const world = new World();
    world.report("a");
    const cordon = (reason: string | null) => world.ask({ type: "cordon", nodeId: "a", reason });
    cordon("one");
    const count = world.events.length;
    cordon("one");
    expect(world.events.length).toBe(count);
    expect(cordon("two").node.cordonReason).toBe("two");
    world.ask({ type: "uncordon", nodeId: "a" });
    world.ask({ type: "uncordon", nodeId: "a" });
    expect(world.events.length).toBe(count + 2);
  });
});

describe("limits on nodes of other kinds", () => {
  test("a node never heard from has no count to hold a limit against; a ledger node's count is the ledger", () => {
    const nodes = [
      { nodeId: "a", endpoint: "http://a", ledger: false },
      { nodeId: "l", endpoint: null, ledger: true },
    ];
    const world = new World({ nodes, startGuardMs: 0, nodeResourceLimit: limits({ maxSandboxCount: 2 }) });
    world.resource("l");
    expect([1, 2].map(() => world.reserve().nodeId)).toEqual(["l", "l"]);
    expect(world.reasons()).toEqual({ "limit max_sandbox_count": 2 });
    expect(world.schedule({ hint: "none" }).node).toEqual({ nodeId: "l", endpoint: null });
  });
});

test("the refusal says what paused ones hold of the memory, in GiB", () => {
  const world = new World();
  world.report("a", { pausedAllocatedMemoryBytes: 63.5 * GIB });
  expect(world.refusal(world.request()).message).toBe(
    "no nodes available: 1 insufficient memory; insufficient memory: 63.5 of 64 GiB paused",
  );
  expect(new World().refusal(world.request()).message).toBe("no nodes available: no nodes are known");
});
