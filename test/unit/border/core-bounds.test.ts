import { describe, expect, test } from "vitest";
import { World } from "../placement/world.ts";

describe("a heartbeat whose sender may not say where the node is", () => {
  const fixed = { endpointFixed: true, serviceInstanceId: "run-1" } as const;

  test("changes no endpoint, makes no node known, and has no other effect", () => {
    const world = new World();
    world.report("a");
    const before = world.node("a");
    expect(world.refusal(world.heartbeatOf("a", { ...fixed, endpoint: "http://thief:1" }))).toMatchObject({
      code: "permission_denied",
      details: { field: "endpoint" },
    });
    expect(world.node("a")).toEqual(before);
    expect(world.refusal(world.heartbeatOf("b", fixed)).code).toBe("permission_denied");
    expect(world.refusal({ type: "get_node", nodeId: "b" }).code).toBe("not_found");
  });

  test("is taken with the known endpoint, with none, and for a node that the configuration names", () => {
    const world = new World({ nodes: [{ nodeId: "a", endpoint: "http://a:1", ledger: false }] });
    world.heartbeat("a", { ...fixed, endpoint: "http://other:1" });
    expect(world.node("a").endpoint).toBe("http://a:1");
    const found = new World();
    found.report("a", {}, { endpoint: "http://a:1" });
    found.heartbeat("a", { ...fixed, endpoint: "http://a:1" });
    found.heartbeat("a", { ...fixed, endpoint: null });
    expect(found.node("a").endpoint).toBe("http://a:1");
  });
});

test("beyond the bound no new node is made known, and the known ones go on to report", () => {
  const world = new World({ nodesMax: 2 });
  world.report("a");
  world.report("b");
  expect(world.refusal(world.heartbeatOf("c", {}))).toMatchObject({ code: "overloaded" });
  expect(world.report("a")).toBe(2);
  expect(world.ask({ type: "list_nodes" }).nodes.map(({ nodeId }) => nodeId)).toEqual(["a", "b"]);
});
