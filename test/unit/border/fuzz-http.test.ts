import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ERRORS } from "../../../src/messages/errors.ts";
import { ENDPOINTS, type EndpointName } from "../../../src/messages/http/endpoints.ts";
import { RESERVATION_STATES } from "../../../src/messages/placement.ts";
import { RunningServers } from "../access/running-servers.ts";
import { brokenJson, Drawer, type FieldKind, WRONG_FOR } from "./seeded.ts";

const SEED = 20_260_730;
const CASES_OF_EACH = 60;

let servers: RunningServers;
/** A pending reservation's, so that a call which slips through changes something. */
let token: string;
const agent = new Agent({ keepAlive: true, maxSockets: 8 });
beforeAll(async () => {
  servers = await RunningServers.start({ flags: { startGuard: "0s", reportTtl: "10m" } });
  const snapshot = { cpu_count: 64, memory_total_bytes: 2 ** 38 };
  for (const id of ["n1", "n2"]) {
    const report = { endpoint: `http://${id}:8000`, service_instance_id: "i1", snapshot, sandbox_ids: ["s0"] };
    await good("POST", `/v1/nodes/${id}/heartbeat`, report);
  }
  await good("POST", "/v1/nodes/n2/cordon", { reason: "kept apart" });
  const hint = { new_cold_sandbox: { cpu_count: 1, memory_mb: 1024 } };
  const [open, confirmed] = [
    await good("POST", "/v1/schedule", { hint }),
    await good("POST", "/v1/schedule", { hint }),
  ];
  token = open.reservation?.token ?? "";
  await good("POST", `/v1/reservations/${confirmed.reservation?.token}/confirm`, { sandbox_id: "s1" });
});
afterAll(async () => {
  agent.destroy();
  await servers[Symbol.asyncDispose]();
});

async function good(method: string, path: string, body?: object) {
  const answered = await servers.call(method, path, body === undefined ? {} : { body });
  expect(answered.status, path).toBe(200);
  return answered.body;
}

/** All that can be asked of the state, without what the passing of time alone changes. */
async function stateOf(): Promise<unknown> {
  const { nodes } = await good("GET", "/v1/nodes");
  const states = await Promise.all(
    RESERVATION_STATES.map((state) => good("GET", `/v1/reservations?state=${state}&limit=10000`)),
  );
  const found = await servers.call("GET", "/v1/sandboxes/s1");
  return { nodes: nodes?.map((node) => ({ ...node, last_seen: null })), states, found: found.body };
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

function send({ method, path, headers = {}, body = "" }: Sent): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const length = { "content-length": Buffer.byteLength(body) };
    const sent = request(
      { agent, method, path, host: "127.0.0.1", port: servers.httpPort, headers: { ...length, ...headers } },
      (answer: IncomingMessage) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

function expectRefused({ status, text }: { status: number; text: string }, sent: unknown): void {
  const what = `${JSON.stringify(sent).slice(0, 400)} → ${status} ${text.slice(0, 200)}`;
  expect(status >= 400 && status < 500, what).toBe(true);
  const { error } = JSON.parse(text) as { error: { code: string; message: string; details: object } };
  expect(Object.keys(ERRORS), what).toContain(error.code);
  expect([typeof error.message, typeof error.details], what).toEqual(["string", "object"]);
}

const JSON_TYPE = { "content-type": "application/json" };

/** A body that each call takes, and the kind of each of its fields. */
const BODIES: Readonly<Partial<Record<EndpointName, { good: object; fields: Readonly<Record<string, FieldKind>> }>>> = {
  schedule: {
    good: {
      hint: { new_cold_sandbox: { cpu_count: 1, memory_mb: 1, metadata: {} } },
      request_id: "r",
      exclude_node_ids: [],
      managed: true,
    },
    fields: {
      hint: "object",
      "hint.new_cold_sandbox.cpu_count": "count",
      "hint.new_cold_sandbox.memory_mb": "count",
      "hint.new_cold_sandbox.metadata": "object",
      request_id: "name",
      exclude_node_ids: "list",
      managed: "flag",
    },
  },
  confirm: { good: { sandbox_id: "s9", force: true }, fields: { sandbox_id: "name", force: "flag" } },
  cancel: { good: { reason: "failed" }, fields: { reason: "text" } },
  renew: { good: { reason: "slow" }, fields: { reason: "text" } },
  uncertain: { good: { reason: "timeout" }, fields: { reason: "text" } },
  heartbeat: {
    good: {
      endpoint: "http://elsewhere:1",
      service_instance_id: "i1",
      sequence: 1,
      snapshot: { allocated_cpu: 1, memory_used_bytes: 1, create_successes: 1, disks: [] },
      sandbox_ids: ["s7"],
      resource: { cpu: 1, mem: 1, utilization: { cpu: 0.5 } },
      resource_sequence: 1,
      boot_id: "b",
    },
    fields: {
      endpoint: "name",
      service_instance_id: "name",
      sequence: "count",
      snapshot: "object",
      "snapshot.allocated_cpu": "count",
      "snapshot.memory_used_bytes": "count",
      "snapshot.create_successes": "count",
      "snapshot.disks": "list",
      sandbox_ids: "list",
      resource: "object",
      "resource.cpu": "count",
      "resource.mem": "count",
      "resource.utilization": "object",
      "resource.utilization.cpu": "ratio",
      resource_sequence: "count",
      boot_id: "name",
    },
  },
  events: {
    good: { service_instance_id: "i1", events: [{ sandbox_id: "s1", event_type: "DELETE", requested_cpu: 1 }] },
    fields: {
      service_instance_id: "name",
      events: "list",
      "events.0": "object",
      "events.0.sandbox_id": "name",
      "events.0.event_type": "name",
      "events.0.requested_cpu": "count",
    },
  },
  cordon: { good: { reason: "x" }, fields: { reason: "text" } },
  uncordon: { good: { reason: "x" }, fields: { reason: "text" } },
  clearCondition: { good: {}, fields: {} },
};

/** Replaces one field by a text of JSON as it is. */
function withField(body: object, field: string, json: string): string {
  const copy = structuredClone(body) as Record<string, unknown>;
  const path = field.split(".");
  const last = path.pop() ?? "";
  const holder = path.reduce<Record<string, unknown>>((at, key) => at[key] as Record<string, unknown>, copy);
  holder[last] = "@here@";
  return JSON.stringify(copy).replace('"@here@"', () => json);
}

function pathOf(name: EndpointName, id?: string): string {
  return ENDPOINTS[name].path
    .replace("{token}", id ?? token)
    .replace("{node_id}", id ?? "n2")
    .replace("{sandbox_id}", id ?? "s1")
    .replace("{type}", "CPU_PRESSURE");
}

const WRONG_IDS = [
  "%00",
  "%ff",
  "%",
  "%zz",
  "a%20b",
  "%C3%BC",
  "%e2%82",
  "x".repeat(257),
  "x".repeat(900),
  "%0d%0a",
  "\\u0000%7f",
];
const WRONG_QUERIES: Readonly<Partial<Record<EndpointName, readonly string[]>>> = {
  listReservations: [
    "limit=0",
    "limit=-1",
    "limit=1.5",
    "limit=x",
    "limit=10001",
    "limit=99999999999999999999",
    "limit=1&limit=2",
    "limit=",
    "state=gone",
    "state=pending&state=settled",
    "node_id=a%20b",
    "node_id=%ff",
    "node_id=",
    `cursor=${"x".repeat(257)}`,
    "cursor=%00",
  ],
  unregister: [
    "",
    "service_instance_id=",
    "service_instance_id=a%20b",
    "service_instance_id=i1&service_instance_id=i1",
    "Service_Instance_Id=i1",
  ],
};
const WRONG_METHODS = ["PUT", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "MKCOL", "SEARCH"];

/** One call that cannot be right. */
function draw(drawer: Drawer, name: EndpointName): Sent {
  const { method, path } = ENDPOINTS[name];
  const upperCase = method.toUpperCase();
  const body = BODIES[name];
  const queries = WRONG_QUERIES[name];
  const kinds = ["method"];
  if (path.includes("{node_id}") || path.includes("{token}") || path.includes("{sandbox_id}")) kinds.push("id");
  if (queries !== undefined) kinds.push("query", "query");
  if (body !== undefined) kinds.push("field", "field", "field", "json", "json", "json", "bytes", "type");
  const text = JSON.stringify(body?.good ?? {});
  switch (drawer.pick(kinds)) {
    case "method":
      return { method: drawer.pick(WRONG_METHODS), path: pathOf(name), headers: JSON_TYPE, body: text };
    case "id":
      return {
        method: upperCase,
        path: pathOf(name, drawer.pick(WRONG_IDS)),
        ...(body ? { headers: JSON_TYPE, body: text } : {}),
      };
    case "query":
      return { method: upperCase, path: `${pathOf(name)}?${drawer.pick(queries ?? [])}` };
    case "field": {
      const fields = Object.entries(body?.fields ?? {});
      if (fields.length === 0) return { method: upperCase, path: pathOf(name), headers: JSON_TYPE, body: "[]" };
      const [field, kind] = drawer.pick(fields);
      const wrong = withField(body?.good ?? {}, field, drawer.pick<string>(WRONG_FOR[kind]));
      return { method: upperCase, path: pathOf(name), headers: JSON_TYPE, body: wrong };
    }
    case "json":
      return { method: upperCase, path: pathOf(name), headers: JSON_TYPE, body: brokenJson(drawer, text) };
    case "bytes": {
      const bytes = drawer.pick([
        Buffer.concat([drawer.bytes(1 + drawer.below(200)), Buffer.from([0xc0, 0x80])]),
        Buffer.from(text, "utf16le"),
        Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)]),
        Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, "utf16le")]),
        Buffer.concat([Buffer.from('{"reason":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
        Buffer.alloc(ENDPOINTS[name].bodyBytesMax + 1, 0x20),
      ]);
      return { method: upperCase, path: pathOf(name), headers: JSON_TYPE, body: bytes };
    }
    default:
      return {
        method: upperCase,
        path: pathOf(name),
        headers: drawer.pick<Record<string, string>>([
          { "content-type": "text/plain" },
          { "content-type": "application/x-www-form-urlencoded" },
          { "content-type": "application/json; charset=utf-16" },
          { "content-type": "application/json;charset=latin1" },
          { "content-type": "application/jsonp" },
          { "content-type": "x" },
          { ...JSON_TYPE, "content-encoding": "gzip" },
        ]),
        body: text,
      };
  }
}

describe(`what cannot be right is refused, and changes nothing (seed ${SEED})`, () => {
  test.each((Object.keys(ENDPOINTS) as EndpointName[]).map((name, index) => [name, index] as const))(
    "%s",
    async (name, index) => {
      const drawer = new Drawer(SEED + index);
      const before = await stateOf();
      for (let number = 0; number < CASES_OF_EACH; number++) {
        const sent = draw(drawer, name);
        expectRefused(await send(sent), sent);
      }
      expect(await stateOf()).toEqual(before);
    },
  );
});

/** Sends bytes as they are and gives back all that comes until the server ends the connection. */
async function exchange(bytes: string): Promise<string> {
  const socket = connect(servers.httpPort, "127.0.0.1");
  let received = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    received += chunk;
  });
  socket.on("error", () => undefined);
  socket.write(bytes, "latin1");
  await once(socket, "close");
  return received;
}

const POST = "POST /v1/schedule HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";

describe("what is not HTTP is answered in the form of every error, and ends the connection", () => {
  test.each([
    ["another protocol", "SSH-2.0-x\r\n\r\n"],
    ["HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a TLS handshake", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"],
    ["no host", "GET /healthz HTTP/1.1\r\n\r\n"],
    ["a proxy's call", "CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["another expectation", `${POST}Expect: miracles\r\nConnection: close\r\nContent-Length: 2\r\n\r\n[]`],
    ["a header without a colon", "GET /healthz HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n"],
    ["a NUL in a header", "GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n"],
    ["a blank before the colon", "GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n"],
    ["two lengths", `${POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ["a negative length", `${POST}Content-Length: -1\r\n\r\n`],
    ["a length and chunks", `${POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ["a chunk of no size", `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
    ["another transfer coding", `${POST}Transfer-Encoding: gzip\r\n\r\nxx`],
    ["a head beyond 16 KiB", `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(20_000)}\r\n\r\n`],
    ["a path beyond 16 KiB", `GET /${"x".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["thousands of headers", `GET /healthz HTTP/1.1\r\nHost: x\r\n${"A: b\r\n".repeat(5_000)}\r\n`],
  ])("%s", async (_, bytes) => {
    const received = await exchange(bytes);
    const status = Number(/^HTTP\/1\.1 (\d+) /.exec(received)?.[1]);
    expectRefused({ status, text: received.slice(received.indexOf("\r\n\r\n") + 4) }, bytes);
  });

  test("and the server goes on to serve", async () => {
    expect((await servers.call("GET", "/healthz")).status).toBe(200);
    expect(servers.lines.filter(({ level }) => level === "error")).toEqual([]);
  });
});
