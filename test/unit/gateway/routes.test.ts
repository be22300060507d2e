import { expect, test } from "vitest";
import { parseEndpoint } from "../../../src/actors/gateway/endpoint.ts";
import { FreshRoutes } from "../../../src/actors/gateway/fresh-routes.ts";
import { type Route, routeOf } from "../../../src/actors/gateway/routes.ts";

const sandbox = (sandboxId: string, by: "path" | "header" = "path", deletes = false): Route => ({
  kind: "sandbox",
  sandboxId,
  by,
  deletes,
});
const COLD: Route = { kind: "create", create: "new_cold_sandbox" };
const TEMPLATE: Route = { kind: "create", create: "new_sandbox" };
const ANY: Route = { kind: "any_node" };

test.each<[string, string, Record<string, string>, Route]>([
  ["POST", "/sandboxes-cold", {}, COLD],
  ["POST", "/sandboxes", {}, TEMPLATE],
  ["POST", "/sandboxes?secure=true", {}, TEMPLATE],
  ["POST", "/sandboxes/", {}, TEMPLATE],
  ["GET", "/sandboxes", {}, ANY],
  ["GET", "/sandboxes/", {}, ANY],
  ["PUT", "/sandboxes-cold", {}, ANY],
  ["POST", "/sandboxes-cold/x", {}, ANY],
  ["POST", "/v2/sandboxes", {}, ANY],
  ["GET", "/", {}, ANY],
  ["GET", "/sandboxes/a", {}, sandbox("a")],
  ["GET", "/sandboxes/a%2Fb/files", {}, sandbox("a/b")],
  ["POST", "/sandboxes/a/pause?x=/sandboxes", {}, sandbox("a")],
  ["DELETE", "/sandboxes/a", {}, sandbox("a", "path", true)],
  ["DELETE", "/sandboxes/a/?x=1", {}, sandbox("a", "path", true)],
  ["DELETE", "/sandboxes/a/files", {}, sandbox("a")],
  ["GET", "/x", { "x-agentenv-sandbox-id": "a" }, sandbox("a", "header")],
  ["GET", "/x", { "e2b-sandbox-id": "b" }, sandbox("b", "header")],
  ["GET", "/x", { "e2b-sandbox-id": "b", "x-agentenv-sandbox-id": "a" }, sandbox("a", "header")],
  ["POST", "/sandboxes", { "e2b-sandbox-id": "b" }, sandbox("b", "header")],
  ["DELETE", "/sandboxes/b", { "e2b-sandbox-id": "b" }, sandbox("b", "header")],
])("%s %s %j", (method, target, headers, route) => {
  expect(routeOf({ method, target, headers })).toEqual(route);
});

test.each([
  ["/sandboxes/%zz", {}],
  ["/sandboxes/%20", {}],
  [`/sandboxes/${"a".repeat(257)}`, {}],
  ["/", { "e2b-sandbox-id": "" }],
  ["/", { "e2b-sandbox-id": "a b" }],
  ["http://elsewhere/sandboxes", {}],
  ["*", {}],
])("%s %j is malformed", (target, headers) => {
  expect(routeOf({ method: "GET", target, headers }).kind).toBe("malformed");
});

test.each([
  ["10.0.0.7:8080", { origin: "http://10.0.0.7:8080", prefix: "" }],
  ["node.example", { origin: "http://node.example", prefix: "" }],
  ["[::1]:80", { origin: "http://[::1]", prefix: "" }],
  ["https://node.example/base/", { origin: "https://node.example", prefix: "/base" }],
  [null, null],
  ["", null],
  ["ftp://node.example", null],
  ["http://user:secret@node.example", null],
  ["http://node.example/?q", null],
  ["node.example:99999", null],
])("the endpoint %j", (endpoint, expected) => expect(parseEndpoint(endpoint)).toEqual(expected));

test("fresh routes end after 30 s, are renewed, and are bounded", () => {
  const routes = new FreshRoutes();
  const node = { nodeId: "n", endpoint: "e" };
  routes.remember("a", node, 0);
  routes.remember("b", node, 10_000);
  routes.remember("a", node, 20_000);
  expect([routes.find("a", 49_999), routes.find("a", 50_000)]).toEqual([node, null]);
  expect([routes.find("b", 39_999), routes.find("b", 40_000)]).toEqual([node, null]);
  routes.forget("b");
  expect(routes.find("b", 10_000)).toBeNull();
  for (let number = 0; number < 10_001; number += 1) routes.remember(`many-${number}`, node, 60_000);
  expect([routes.find("many-0", 60_000), routes.find("many-1", 60_000)]).toEqual([null, node]);
});
