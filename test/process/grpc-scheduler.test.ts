import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { coldSandbox, type GrpcClient, heartbeatOf, status } from "../unit/grpc/client.ts";
import { GrpcProcess, staticNodes } from "./grpc-process.ts";

const GIB = 2n ** 30n;
const NODE_IDS = ["a", "b", "c"];
const READY = 1;
const CONNECTING = 2;
const UNHEALTHY = 3;
const LINGERING = 4;

let running: GrpcProcess;
let client: GrpcClient;
beforeAll(async () => {
  running = await GrpcProcess.start({
    ...staticNodes("c", "a", "b", "silent", "gone", "watched"),
    unknown_nodes: "never",
  });
  client = running.client;
  for (const nodeId of [...NODE_IDS, "gone", "watched"]) await client.heartbeat(nodeId, { clusterId: "east" });
});
afterAll(() => running[Symbol.asyncDispose]());

/** The wire's own reservations, of one node. */
async function reservationsOf(nodeId: string) {
  return (await client.ask("list", { nodeId, state: 0, limit: 0, cursor: "" })).reservations;
}

describe("Schedule", () => {
  test("reserves nothing without a hint", async () => {
    const { response, metadata } = await client.call("schedule", { hint: undefined });
    expect(NODE_IDS.concat("gone", "watched", "silent")).toContain(response.node?.nodeId);
    expect(response.node?.endpoint).toBe(`http://${response.node?.nodeId}:8000`);
    expect(metadata.get("evenkeel-reservation-token")).toEqual([]);
    expect((await client.ask("list", { nodeId: "", state: 0, limit: 0, cursor: "" })).reservations).toEqual([]);
  });

  test("reserves what a gateway of the old protocol asks for, unmanaged and without a token", async () => {
    const { response, metadata } = await client.call("schedule", coldSandbox(2, 4096));
    const nodeId = response.node?.nodeId ?? "";
    const [reservation] = await reservationsOf(nodeId);
    expect(reservation).toMatchObject({ managed: false, token: undefined, state: 1, cpuMillicores: 2000n });
    expect(reservation?.memoryBytes).toBe(4n * GIB);
    expect(metadata.get("evenkeel-reservation-token")).toEqual([]);
    await client.ask("cancel", { token: reservation?.id ?? "", reason: "" });
  });

  test("a hint for a template reserves too, with what is assumed", async () => {
    const hint = { kind: { $case: "newSandbox" as const, value: { metadata: { team: "x" } } } };
    const { node } = await client.ask("schedule", { hint });
    const [reservation] = await reservationsOf(node?.nodeId ?? "");
    expect(reservation).toMatchObject({ managed: false, state: 1, cpuMillicores: 0n, memoryBytes: 0n });
    await client.ask("cancel", { token: reservation?.id ?? "", reason: "" });
  });

  test("a managed one carries its token and its end, and its request id makes it one attempt", async () => {
    const managed = { "evenkeel-managed": "1", "evenkeel-request-id": "attempt-1" };
    const first = await client.call("schedule", coldSandbox(1, 1024), managed);
    const [token] = first.metadata.get("evenkeel-reservation-token");
    const [expiresAt] = first.metadata.get("evenkeel-reservation-expires-at");
    expect(token).toMatch(/^rt_[\w-]{22,}$/);
    expect(expiresAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const again = await client.call("schedule", coldSandbox(1, 1024), managed);
    expect(again.metadata.get("evenkeel-reservation-token")).toEqual([token]);
    expect(again.response).toEqual(first.response);
    expect(await client.refusal("schedule", coldSandbox(2, 1024), managed)).toMatchObject({
      code: status.FAILED_PRECONDITION,
    });
    await client.ask("cancel", { token: String(token), reason: "" });
  });

  test("no candidate is UNAVAILABLE, and the message begins as gateways match it", async () => {
    const refusal = await client.refusal("schedule", coldSandbox(64, 1024));
    expect(refusal.code).toBe(status.UNAVAILABLE);
    expect(refusal.details).toMatch(/^no nodes available: /);
  });

  test.each([
    [{ "evenkeel-managed": "perhaps" }, "evenkeel-managed must be 1 or 0"],
    [{ "evenkeel-request-id": "two words" }, "evenkeel-request-id must be"],
  ])("metadata that is not valid is refused by its name: %o", async (metadata, message) => {
    const refusal = await client.refusal("schedule", coldSandbox(1, 1), metadata);
    expect(refusal.code).toBe(status.INVALID_ARGUMENT);
    expect(refusal.details).toContain(message);
  });

  test("more memory than there are bytes for is refused by the field's name", async () => {
    const value = { cpuCount: 1, memoryMb: 2n ** 63n, images: [], metadata: {} };
    const refusal = await client.refusal("schedule", { hint: { kind: { $case: "newColdSandbox", value } } });
    expect(refusal.code).toBe(status.INVALID_ARGUMENT);
    expect(refusal.details).toContain("hint.new_cold_sandbox.memory_mb");
  });
});

describe("nodes", () => {
  test("ListNodes has every known node, sorted by id", async () => {
    const { nodes } = await client.ask("listNodes", {});
    expect(nodes.map(({ nodeId }) => nodeId)).toEqual(["a", "b", "c", "gone", "silent", "watched"]);
    expect(nodes[0]).toEqual({ nodeId: "a", endpoint: "http://a:8000" });
  });

  test("a heartbeat needs a node and an instance", async () => {
    for (const [field, fields] of [
      ["node_id", { nodeId: "" }],
      ["service_instance_id", { serviceInstanceId: "" }],
    ] as const) {
      const refusal = await client.refusal("heartbeat", heartbeatOf("a", fields));
      expect(refusal).toMatchObject({ code: status.INVALID_ARGUMENT });
      expect(refusal.details).toContain(field);
    }
  });

  test("a node that is not listed is told so in the words that nodes match", async () => {
    expect(await client.refusal("heartbeat", heartbeatOf("stranger", {}))).toEqual({
      code: status.INVALID_ARGUMENT,
      details: "node is not in scheduler node list",
    });
  });

  test("GetNode says who it is and what it reported", async () => {
    const beforeMs = BigInt(Date.now());
    await client.heartbeat("watched", {
      clusterId: "east",
      version: "1.2.3",
      commit: "abc",
      machineInfo: { cpuFamily: "6", cpuModel: "85", cpuModelName: "Xeon", cpuArchitecture: "x86_64" },
      snapshot: { allocatedCpu: 3, pausedAllocatedCpu: 2, sandboxCount: 1, cpuPercent: 12 },
    });
    const { node } = await client.ask("getNode", { nodeId: "watched", clusterId: "east" });
    expect(node).toMatchObject({
      nodeId: "watched",
      endpoint: "http://watched:8000",
      clusterId: "east",
      serviceInstanceId: "watched-1",
      version: "1.2.3",
      commit: "abc",
      machineInfo: { cpuFamily: "6", cpuModel: "85", cpuModelName: "Xeon", cpuArchitecture: "x86_64" },
      snapshot: {
        status: READY,
        allocatedCpu: 3,
        pausedAllocatedCpu: 2,
        sandboxCount: 1,
        cpuPercent: 12,
        cpuCount: 16,
      },
    });
    // Not sent: the time of arrival.
    expect(node?.snapshot?.reportedAtUnixMs).toBeGreaterThanOrEqual(beforeMs);
    expect(node?.lastSeenUnixMs).toBeGreaterThanOrEqual(beforeMs);
  });

  test.each([
    ["READY", 1, READY],
    ["nothing, which is CONNECTING", 0, CONNECTING],
    ["LINGERING", 4, LINGERING],
    ["itself UNHEALTHY", 3, UNHEALTHY],
    ["a status of a newer node, which is like none", 77, CONNECTING],
  ])("a node that reports %s", async (_, reported, shown) => {
    await client.heartbeat("watched", { clusterId: "east", snapshot: { status: reported as 0 } });
    const { node } = await client.ask("getNode", { nodeId: "watched", clusterId: "" });
    expect(node?.snapshot?.status).toBe(shown);
    await client.heartbeat("watched", { clusterId: "east" });
  });

  test("unknown nodes and those of another cluster are not found", async () => {
    for (const request of [
      { nodeId: "stranger", clusterId: "" },
      { nodeId: "a", clusterId: "west" },
    ]) {
      expect(await client.refusal("getNode", request)).toMatchObject({ code: status.NOT_FOUND });
    }
  });

  test("ListObservedNodes has those that have reported, by cluster", async () => {
    const { nodes } = await client.ask("listObservedNodes", { clusterId: "east" });
    expect(nodes.map(({ nodeId }) => nodeId)).toEqual(["a", "b", "c", "gone", "watched"]);
    expect(nodes[0]?.snapshot?.status).toBe(READY);
    expect((await client.ask("listObservedNodes", { clusterId: "west" })).nodes).toEqual([]);
    expect((await client.ask("listObservedNodes", { clusterId: "" })).nodes).toHaveLength(5);
  });

  test("integers beyond 2^53 survive where they are only shown", async () => {
    const exact = {
      memoryUsedBytes: 2n ** 53n + 1n,
      createFails: 2n ** 64n - 1n,
      disks: [
        { mountPoint: "/", device: "d", filesystemType: "xfs", usedBytes: 2n ** 60n + 1n, totalBytes: 2n ** 64n - 3n },
      ],
      reportedAtUnixMs: 2n ** 55n + 1n,
    };
    await client.heartbeat("b", { clusterId: "east", snapshot: exact });
    const { node } = await client.ask("getNode", { nodeId: "b", clusterId: "" });
    expect(node?.snapshot).toMatchObject(exact);
    await client.heartbeat("b", { clusterId: "east", serviceInstanceId: "b-2" });
  });

  test.each(["allocatedMemoryBytes", "memoryTotalBytes", "createSuccesses", "pausedAllocatedMemoryBytes"])(
    "%s beyond 2^53 is refused by its name: sums would not be exact",
    async (field) => {
      const refusal = await client.refusal("heartbeat", heartbeatOf("a", { snapshot: { [field]: 2n ** 53n } }));
      expect(refusal.code).toBe(status.INVALID_ARGUMENT);
      const name = field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      expect(refusal.details).toContain(`snapshot.${name} must be an integer from 0 to 9007199254740991`);
    },
  );

  test("a wrong id in a roster is named by its place", async () => {
    const refusal = await client.refusal("heartbeat", heartbeatOf("a", { sandboxIds: ["s1", ""] }));
    expect(refusal).toMatchObject({ code: status.INVALID_ARGUMENT });
    expect(refusal.details).toContain("sandbox_ids[1] is missing");
  });

  test("UnregisterNode: another instance is refused, an unheard node is ok, and what was kept goes", async () => {
    const artifact = { clusterId: "east", backend: "tcp", key: "layer-of-gone" };
    const p2pEndpoint = { backend: "tcp", address: "gone:1" };
    await client.heartbeat("gone", { clusterId: "east", sandboxIds: ["on-gone"], p2pEndpoint });
    await client.ask("recordP2PArtifact", { ...artifact, nodeId: "gone" });
    expect((await client.ask("lookupNode", { sandboxId: "on-gone" })).node?.nodeId).toBe("gone");
    expect(await client.refusal("unregisterNode", { nodeId: "gone", serviceInstanceId: "gone-2" })).toEqual({
      code: status.FAILED_PRECONDITION,
      details: "service instance mismatch",
    });
    expect(await client.ask("unregisterNode", { nodeId: "silent", serviceInstanceId: "silent-1" })).toEqual({});
    expect(await client.ask("unregisterNode", { nodeId: "gone", serviceInstanceId: "gone-1" })).toEqual({});
    expect(await client.refusal("lookupNode", { sandboxId: "on-gone" })).toMatchObject({ code: status.NOT_FOUND });
    // A heartbeat that was under way is ignored, here and in what is kept beside placement.
    expect(await client.heartbeat("gone", { clusterId: "east", p2pEndpoint })).toBe("");
    expect((await client.ask("lookupP2PArtifact", { ...artifact, excludeNodeId: "" })).peers).toEqual([]);
    expect((await client.ask("listP2PPeers", { clusterId: "east", backend: "", excludeNodeId: "" })).peers).toEqual([]);
    // Back as a new instance, its artifacts are still forgotten.
    await client.heartbeat("gone", { clusterId: "east", serviceInstanceId: "gone-2", p2pEndpoint });
    expect(
      (await client.ask("listP2PPeers", { clusterId: "east", backend: "", excludeNodeId: "" })).peers,
    ).toHaveLength(1);
    expect((await client.ask("lookupP2PArtifact", { ...artifact, excludeNodeId: "" })).peers).toEqual([]);
    await client.heartbeat("gone", { clusterId: "east", serviceInstanceId: "gone-2" });
  });
});

describe("assignments", () => {
  test("RecordAssignment routes, and binds nothing", async () => {
    const { node } = await client.ask("schedule", coldSandbox(1, 1024));
    expect(await client.ask("recordAssignment", { sandboxId: "recorded", node })).toEqual({});
    expect((await client.ask("lookupNode", { sandboxId: "recorded" })).node).toEqual(node);
    const [reservation] = await reservationsOf(node?.nodeId ?? "");
    expect(reservation).toMatchObject({ state: 1, sandboxId: undefined });
    await client.ask("cancel", { token: reservation?.id ?? "", reason: "" });
  });

  test.each([
    ["an unknown node", { nodeId: "stranger", endpoint: "http://stranger:8000" }],
    ["another endpoint", { nodeId: "a", endpoint: "http://a:9999" }],
  ])("%s is not in the node list", async (_, node) => {
    expect(await client.refusal("recordAssignment", { sandboxId: "s", node })).toEqual({
      code: status.INVALID_ARGUMENT,
      details: "node is not in scheduler node list",
    });
  });

  test("empty ids are refused by their names", async () => {
    const node = { nodeId: "a", endpoint: "http://a:8000" };
    const refusals = [
      await client.refusal("recordAssignment", { sandboxId: "", node }),
      await client.refusal("recordAssignment", { sandboxId: "s", node: undefined }),
      await client.refusal("recordAssignment", { sandboxId: "s", node: { ...node, nodeId: "" } }),
      await client.refusal("lookupNode", { sandboxId: "" }),
    ];
    expect(refusals.map(({ code }) => code)).toEqual(refusals.map(() => status.INVALID_ARGUMENT));
    const [first, second, third, fourth] = refusals.map(({ details }) => details.split(" ")[0]);
    expect([first, second, third, fourth]).toEqual(["sandbox_id", "node", "node.node_id", "sandbox_id"]);
  });

  test("an unknown sandbox is not found, in the words of the contract", async () => {
    expect(await client.refusal("lookupNode", { sandboxId: "nowhere" })).toEqual({
      code: status.NOT_FOUND,
      details: "sandbox assignment not found",
    });
  });

  test("a roster assigns, and one that lacks what it had drops it", async () => {
    await client.heartbeat("c", { clusterId: "east", sandboxIds: ["listed", "stays"] });
    expect((await client.ask("lookupNode", { sandboxId: "listed" })).node?.nodeId).toBe("c");
    await client.heartbeat("c", { clusterId: "east", sandboxIds: ["stays"] });
    expect(await client.refusal("lookupNode", { sandboxId: "listed" })).toMatchObject({ code: status.NOT_FOUND });
    expect((await client.ask("lookupNode", { sandboxId: "stays" })).node?.nodeId).toBe("c");
  });

  test("a CREATE event assigns and a DELETE event drops; events of unknown types are left out", async () => {
    const event = { sandboxId: "made", requestedCpu: 1, requestedMemoryBytes: GIB, requestedDiskBytes: 2n ** 63n };
    const report = { nodeId: "c", clusterId: "east", serviceInstanceId: "c-1" };
    const create = { ...event, eventType: 1 as const };
    const unknown = { ...event, sandboxId: "", eventType: 42 as 1 };
    expect(await client.ask("reportSandboxEvent", { ...report, events: [unknown, create] })).toEqual({});
    expect((await client.ask("lookupNode", { sandboxId: "made" })).node?.nodeId).toBe("c");
    await client.ask("reportSandboxEvent", { ...report, events: [{ ...event, eventType: 2 }] });
    expect(await client.refusal("lookupNode", { sandboxId: "made" })).toMatchObject({ code: status.NOT_FOUND });
  });
});

describe("P2P artifacts", () => {
  const artifact = { clusterId: "east", backend: "tcp", key: "layer-1" };
  const holders = async (excludeNodeId = "") =>
    (await client.ask("lookupP2PArtifact", { ...artifact, excludeNodeId })).peers.map(({ nodeId }) => nodeId);

  test("only READY nodes with a matching endpoint are returned, without the excluded one", async () => {
    const endpointOf = (nodeId: string, backend = "tcp") => ({ backend, address: `${nodeId}:7000` });
    await client.heartbeat("a", { clusterId: "east", p2pEndpoint: endpointOf("a") });
    await client.heartbeat("b", { clusterId: "east", serviceInstanceId: "b-2", p2pEndpoint: endpointOf("b") });
    await client.heartbeat("c", { clusterId: "east", p2pEndpoint: endpointOf("c", "rdma") });
    for (const nodeId of NODE_IDS) await client.ask("recordP2PArtifact", { ...artifact, nodeId });
    expect(await holders()).toEqual(["b", "a"]);
    expect(await holders("b")).toEqual(["a"]);
    const { peers } = await client.ask("listP2PPeers", { clusterId: "east", backend: "tcp", excludeNodeId: "a" });
    expect(peers).toEqual([{ nodeId: "b", endpoint: { backend: "tcp", address: "b:7000" } }]);
    expect((await client.ask("listP2PPeers", { clusterId: "west", backend: "", excludeNodeId: "" })).peers).toEqual([]);

    await client.heartbeat("b", {
      clusterId: "east",
      serviceInstanceId: "b-2",
      p2pEndpoint: endpointOf("b"),
      snapshot: { status: 2 },
    });
    expect(await holders()).toEqual(["a"]);
    await client.ask("forgetP2PArtifact", { ...artifact, nodeId: "a" });
    expect(await holders()).toEqual([]);
  });

  test.each(["clusterId", "backend", "key"] as const)("%s is required", async (field) => {
    const record = { ...artifact, nodeId: "a", [field]: "" };
    for (const refusal of [
      await client.refusal("recordP2PArtifact", record),
      await client.refusal("forgetP2PArtifact", record),
      await client.refusal("lookupP2PArtifact", { ...artifact, excludeNodeId: "", [field]: "" }),
    ]) {
      expect(refusal.code).toBe(status.INVALID_ARGUMENT);
      expect(refusal.details).toBe(`${field === "clusterId" ? "cluster_id" : field} is missing`);
    }
  });

  test("to record and to forget, the node is required too", async () => {
    for (const name of ["recordP2PArtifact", "forgetP2PArtifact"] as const) {
      const refusal = await client.refusal(name, { ...artifact, nodeId: "" });
      expect(refusal).toMatchObject({ code: status.INVALID_ARGUMENT });
      expect(refusal.details).toContain("node_id");
    }
  });
});

describe("CPU templates", () => {
  const template = (digits: string) =>
    JSON.stringify({ msr_modifiers: [{ addr: "0x10a", bitmap: `0b1${digits.padStart(63, "0")}` }] });

  test("each node hears the intersection once, when all of its cluster have sent theirs", async () => {
    const pair = await GrpcProcess.start(staticNodes("x", "y"));
    await using _ = pair;
    const beat = (nodeId: string, cpuConfigJson = "") =>
      pair.client.heartbeat(nodeId, { clusterId: "c", machineInfo: { cpuConfigJson } });
    expect(await beat("x", template("110"))).toBe("");
    expect(await beat("y", template("011"))).toBe("");
    const agreed = JSON.parse(await beat("x"));
    expect(agreed).toEqual({
      kvm_capabilities: [],
      cpuid_modifiers: [],
      msr_modifiers: [{ addr: "0x10a", bitmap: `0b1${"10".padStart(63, "0")}` }],
    });
    expect(await beat("x")).toBe("");
    expect(JSON.parse(await beat("y"))).toEqual(agreed);
    expect(await beat("y")).toBe("");
    await pair.client.ask("unregisterNode", { nodeId: "y", serviceInstanceId: "y-1" });
    expect(await beat("x")).toContain(template("110").slice(19, 60));
  });
});

describe("silence", () => {
  test("a silent node is UNHEALTHY, no peer and no candidate; what was looked up there expires", async () => {
    const config = { ...staticNodes("n"), report_ttl: "1s", binding_ttl: "1s" };
    await using quiet = await GrpcProcess.start(config);
    const p2pEndpoint = { backend: "tcp", address: "n:1" };
    await quiet.client.heartbeat("n", { clusterId: "c", sandboxIds: ["s"], p2pEndpoint });
    const artifact = { clusterId: "c", backend: "tcp", key: "k" };
    await quiet.client.ask("recordP2PArtifact", { ...artifact, nodeId: "n" });
    expect((await quiet.client.ask("lookupNode", { sandboxId: "s" })).node?.nodeId).toBe("n");
    await vi.waitFor(
      async () => {
        const { node } = await quiet.client.ask("getNode", { nodeId: "n", clusterId: "c" });
        expect(node?.snapshot?.status).toBe(UNHEALTHY);
      },
      { timeout: 10_000, interval: 100 },
    );
    const { nodes } = await quiet.client.ask("listObservedNodes", { clusterId: "c" });
    expect(nodes.map(({ snapshot }) => snapshot?.status)).toEqual([UNHEALTHY]);
    expect((await quiet.client.ask("lookupP2PArtifact", { ...artifact, excludeNodeId: "" })).peers).toEqual([]);
    expect(await quiet.client.refusal("lookupNode", { sandboxId: "s" })).toMatchObject({ code: status.NOT_FOUND });
    const refusal = await quiet.client.refusal("schedule", coldSandbox(1, 1));
    expect(refusal).toMatchObject({ code: status.UNAVAILABLE, details: expect.stringContaining("1 unhealthy") });
  });
});
