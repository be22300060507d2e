/** Requests for sandboxes that exist, for any node, and for nobody; headers and paths on their way through. */
import { request as rawRequest } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import WebSocket from "ws";
import type { SeenRequest } from "./gateway-stub-node.ts";
import { GatewayWorld } from "./gateway-world.ts";

let world: GatewayWorld;
/** A sandbox of each node. */
const ids = { "node-a": "", "node-b": "" };

beforeAll(async () => {
  world = await GatewayWorld.start({ nodes: ["node-a", "node-b"] });
  for (const nodeId of ["node-a", "node-b"] as const) {
    const other = nodeId === "node-a" ? "node-b" : "node-a";
    const response = await world.create(`${other}=503,${nodeId}=201`);
    ids[nodeId] = response.headers.get("x-agentenv-sandbox-id") ?? "";
  }
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(async () => {
  for (const node of world.nodes) await node.seen();
});

/** One request exactly as it is written here: `fetch` would mend paths and refuse headers. */
async function send(
  path: string,
  options: { method?: string; headers?: Record<string, string | string[]>; body?: string } = {},
) {
  const { method = "GET", headers = {}, body } = options;
  const { hostname, port } = new URL(world.url);
  const request = rawRequest({ hostname, port, path, method, headers, agent: false });
  const answer = new Promise<import("node:http").IncomingMessage>((resolve, reject) => {
    request.once("response", resolve).once("error", reject);
  });
  request.end(body);
  const response = await answer;
  return { status: response.statusCode, headers: response.headers, text: await text(response) };
}

const bodyOf = (answer: { text: string }): SeenRequest => JSON.parse(answer.text) as SeenRequest;
const headerOf = ({ rawHeaders }: SeenRequest, name: string): string[] =>
  rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);

describe("a sandbox that exists", () => {
  test.each(["node-a", "node-b"] as const)("is found by its path: %s", async (nodeId) => {
    const answer = await send(`/sandboxes/${ids[nodeId]}/files?path=%2Fetc%2Fhosts`);
    expect(answer.status).toBe(200);
    expect(bodyOf(answer)).toMatchObject({ node: nodeId, url: `/sandboxes/${ids[nodeId]}/files?path=%2Fetc%2Fhosts` });
  });

  test.each(["x-agentenv-sandbox-id", "e2b-sandbox-id"])("is found by %s, below /proxy", async (header) => {
    const answer = await send("/any/path?q=1", { headers: { [header]: ids["node-b"] } });
    expect(bodyOf(answer)).toMatchObject({ node: "node-b", url: "/proxy/any/path?q=1" });
    const create = await send("/sandboxes", { method: "POST", headers: { [header]: ids["node-a"] }, body: "{}" });
    expect(bodyOf(create)).toMatchObject({ node: "node-a", url: "/proxy/sandboxes" });
  });

  test("that nobody knows is a 404 in the API's error shape", async () => {
    const answers = [
      await send("/sandboxes/unknown-id/files"),
      await send("/", { headers: { "e2b-sandbox-id": "unknown-id" } }),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(404);
      expect(JSON.parse(answer.text).error).toMatchObject({ code: "not_found", details: {} });
    }
  });

  test("ends with a DELETE that its node confirms, and is released", async () => {
    const create = await world.create("201", { path: "/sandboxes" });
    const id = create.headers.get("x-agentenv-sandbox-id") ?? "";
    const reservation = async () => (await world.reservations()).find(({ sandbox_id }) => sandbox_id === id);
    expect(await reservation()).toMatchObject({ state: "confirmed" });
    expect((await send(`/sandboxes/${id}`, { method: "DELETE" })).status).toBe(204);
    expect(await reservation()).toMatchObject({ state: "released" });
    expect((await send(`/sandboxes/${id}`)).status).toBe(404);
  });

  test("is not released by a DELETE of something in it, nor by one routed by header", async () => {
    const create = await world.create("201");
    const id = create.headers.get("x-agentenv-sandbox-id") ?? "";
    await send(`/sandboxes/${id}/files`, { method: "DELETE" });
    await send(`/sandboxes/${id}`, { method: "DELETE", headers: { "e2b-sandbox-id": id } });
    const found = (await world.reservations()).find(({ sandbox_id }) => sandbox_id === id);
    expect(found).toMatchObject({ state: "confirmed" });
  });
});

test("anything else goes to some node and reserves nothing", async () => {
  await world.newReservations();
  for (const [method, path] of [
    ["GET", "/sandboxes"],
    ["GET", "/"],
    ["PUT", "/templates/x"],
    ["OPTIONS", "/sandboxes"],
  ] as const) {
    const answer = await send(path, { method });
    expect(answer.status).toBe(200);
    expect(bodyOf(answer)).toMatchObject({ method, url: path });
  }
  expect(await world.newReservations()).toEqual([]);
});

test.each([
  "/a%2Fb/%2e%2e/c%20d?x=%zz&y=a+b",
  "/%zz",
  "/a/../b/./c",
  "//double//slash",
  "/pipe|brace{}^`'\"<>?q=[]|{}",
  "/?",
])("the path %s stays as it is", async (path) => {
  expect(bodyOf(await send(path)).url).toBe(path);
});

test("headers of the hop go, those that Connection names too; the others stay, and forwarded ones are added", async () => {
  const answer = await send("/templates", {
    headers: {
      host: "sandboxes.example:8443",
      connection: "keep-alive, X-Secret-Of-Hop",
      "x-secret-of-hop": "1",
      "keep-alive": "timeout=5",
      te: "trailers",
      "proxy-authorization": "Basic cHJveHk=",
      authorization: "Bearer of-the-client",
      "x-api-key": "key-of-the-client",
      cookie: "a=b",
      "x-forwarded-for": "203.0.113.9",
      "x-many": ["1", "2"],
    },
  });
  const seen = bodyOf(answer);
  const headers = (name: string): string[] => headerOf(seen, name);
  expect(headers("host")).toEqual(["sandboxes.example:8443"]);
  expect(headers("authorization")).toEqual(["Bearer of-the-client"]);
  expect(headers("x-api-key")).toEqual(["key-of-the-client"]);
  expect(headers("cookie")).toEqual(["a=b"]);
  expect(headers("x-many")).toEqual(["1", "2"]);
  expect(headers("x-forwarded-for")).toEqual(["203.0.113.9, 127.0.0.1"]);
  expect(headers("x-forwarded-proto")).toEqual(["http"]);
  expect(headers("x-forwarded-host")).toEqual(["sandboxes.example:8443"]);
  for (const name of ["x-secret-of-hop", "keep-alive", "te", "proxy-authorization"]) expect(headers(name)).toEqual([]);
  expect(answer.headers["x-of-this-hop"]).toBeUndefined();
  expect(answer.headers["set-cookie"]).toEqual(["a=1", "b=2"]);
  expect(world.program.stderr).not.toMatch(/of-the-client/);
});

test("a create's headers are treated alike", async () => {
  await world.create("201", { headers: { authorization: "Bearer of-the-client", "proxy-authorization": "Basic x" } });
  const seen = (await Promise.all(world.nodes.map((node) => node.seen()))).flat();
  const [create] = seen;
  if (create === undefined) throw new Error("no node saw the create");
  expect(headerOf(create, "authorization")).toEqual(["Bearer of-the-client"]);
  expect(headerOf(create, "proxy-authorization")).toEqual([]);
  expect(headerOf(create, "host")).toEqual([new URL(world.url).host]);
  expect(headerOf(create, "x-forwarded-for")).toEqual(["127.0.0.1"]);
});

test("a read that a node answers 503 is asked once", async () => {
  const answer = await send("/templates", { headers: { "x-stub": "503" } });
  expect(answer.status).toBe(503);
  expect((await Promise.all(world.nodes.map((node) => node.seen()))).flat()).toHaveLength(1);
});

test("a GET may have a body", async () => {
  const answer = await send("/search", { headers: { "content-length": "2" }, body: "{}" });
  expect(bodyOf(answer)).toMatchObject({ method: "GET", bodyBytes: 2 });
});

test.each([
  [{ path: "/sandboxes/a%20b" }, "the path names no valid sandbox id"],
  [{ path: "/sandboxes/%zz" }, "the path names no valid sandbox id"],
  [{ path: "/", headers: { "e2b-sandbox-id": "a b" } }, "e2b-sandbox-id must be"],
])("%j is refused", async ({ path, headers = {} }: { path: string; headers?: Record<string, string> }, message) => {
  const answer = await send(path, { headers });
  expect(answer.status).toBe(400);
  expect(JSON.parse(answer.text).error).toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining(message),
  });
});

test("what is not HTTP is refused, and a head beyond 64 KiB", async () => {
  const { hostname, port } = new URL(world.url);
  const talk = async (words: string): Promise<string> => {
    const socket = connect(Number(port), hostname);
    socket.end(words);
    return text(socket);
  };
  expect(await talk("hello\r\n\r\n")).toMatch(/^HTTP\/1.1 400 [\s\S]*"this is not HTTP\/1.1"/);
  expect(await talk(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${"x".repeat(70_000)}\r\n\r\n`)).toMatch(/^HTTP\/1.1 431 /);
});

describe("a WebSocket", () => {
  const open = (path: string, headers: Record<string, string> = {}): WebSocket =>
    new WebSocket(world.url.replace("http", "ws") + path, { headers });
  const nextMessage = (socket: WebSocket): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      socket.once("message", (data) => resolve(data as Buffer)).once("error", reject);
    });

  test("passes to the sandbox's node, both ways, and ends with either side", async () => {
    const socket = open("/terminal?x=%2F", { "x-agentenv-sandbox-id": ids["node-b"], authorization: "Bearer t" });
    const greeting = JSON.parse(String(await nextMessage(socket)));
    expect(greeting).toMatchObject({ node: "node-b", url: "/proxy/terminal?x=%2F" });
    expect(greeting.headers).toMatchObject({ authorization: "Bearer t", "x-forwarded-for": "127.0.0.1" });
    expect(greeting.headers.host).toBe(new URL(world.url).host);
    const bytes = Buffer.alloc(200_000, 7);
    socket.send(bytes);
    expect((await nextMessage(socket)).equals(bytes)).toBe(true);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.close(1000);
    await closed;
    await expect.poll(() => world.metric("evenkeel_gateway_upgrades_open")).toBe(0);
  });

  test.each([
    [{ path: "/sandboxes/unknown-id/ws" }, 404],
    [{ path: "/unauthorised" }, 401],
  ])("%j that is refused is a plain answer: %i", async ({ path }, status) => {
    const socket = open(path);
    const refused = await new Promise<number | undefined>((resolve) => {
      socket.once("unexpected-response", (_request, response) => resolve(response.statusCode));
      socket.on("error", () => undefined);
    });
    expect(refused).toBe(status);
    socket.terminate();
  });
});

test("a node that is gone: 502 for what is on it", async () => {
  await world.node("node-a").kill();
  const answer = await send(`/sandboxes/${ids["node-a"]}`);
  expect(answer.status).toBe(502);
  expect(JSON.parse(answer.text).error).toMatchObject({ code: "bad_gateway", details: { node_id: "node-a" } });
  const socket = new WebSocket(world.url.replace("http", "ws"), { headers: { "e2b-sandbox-id": ids["node-a"] } });
  const refused = await new Promise<number | undefined>((resolve) => {
    socket.once("unexpected-response", (_request, response) => resolve(response.statusCode));
    socket.on("error", () => undefined);
  });
  expect(refused).toBe(502);
  socket.terminate();
});
