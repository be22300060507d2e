import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ENDPOINTS, type EndpointName } from "../../../src/messages/http/endpoints.ts";
import { type Answered, RunningServers } from "./running-servers.ts";

const TOKENS = {
  client: "client-token-0123456789",
  client2: "second-client-0123456789",
  node: "any-node-token-0123456789",
  node1: "first-node-token-0123456789",
  node2: "second-node-token-0123456789",
  operator: "operator-token-0123456789",
} as const;
const FILE = `client ${TOKENS.client}
client ${TOKENS.client2}
node ${TOKENS.node}
node n1 ${TOKENS.node1}
node n2 ${TOKENS.node2}
operator ${TOKENS.operator}
`;

let servers: RunningServers;
beforeAll(async () => {
  servers = await RunningServers.start({ files: { tokens: FILE }, flags: { startGuard: "0s" } });
  for (const [id, token] of [["n1", TOKENS.node1] as const, ["n2", TOKENS.node2] as const]) {
    expect((await heartbeat(id, token, `http://${id}.example:8000`)).status).toBe(200);
  }
});
afterAll(() => servers[Symbol.asyncDispose]());

function heartbeat(nodeId: string, token: string, endpoint?: string): Promise<Answered> {
  const snapshot = { cpu_count: 8, memory_total_bytes: 2 ** 35 };
  const body = { service_instance_id: `${nodeId}-1`, snapshot, sandbox_ids: [], ...(endpoint ? { endpoint } : {}) };
  return servers.call("POST", `/v1/nodes/${nodeId}/heartbeat`, { token, body });
}

const schedule = (token: string, requestId?: string): Promise<Answered> =>
  servers.call("POST", "/v1/schedule", {
    token,
    body: { hint: { new_cold_sandbox: { cpu_count: 1 } }, ...(requestId ? { request_id: requestId } : {}) },
  });

/** What the issue says of each kind: everything else is an operator's. */
const ALLOWED: Readonly<Record<"client" | "node", readonly EndpointName[]>> = {
  client: [
    "schedule",
    "confirm",
    "cancel",
    "renew",
    "uncertain",
    "getReservation",
    "listReservations",
    "lookupSandbox",
    "recordAssignment",
    "deleteSandbox",
  ],
  node: ["heartbeat", "events"],
};
const OPEN: readonly EndpointName[] = ["healthz", "readyz"];
const NAMES = Object.keys(ENDPOINTS) as EndpointName[];

describe("every call of the table", () => {
  /** A body that no call takes, and a handle of nothing: whoever is let in is refused later, and changes nothing. */
  const knock = (name: EndpointName, token?: string): Promise<Answered> => {
    const { method, path } = ENDPOINTS[name];
    const at = path
      .replace("{token}", "rt_x")
      .replace("{type}", "CPU_PRESSURE")
      .replaceAll(/\{\w+\}/g, "unknown");
    const body =
      method === "post" ? { body: { hint: 7, sandbox_id: 7, service_instance_id: 7, reason: 7, events: 7 } } : {};
    return servers.call(method.toUpperCase(), at, { ...body, ...(token === undefined ? {} : { token }) });
  };

  test.each(NAMES)("%s without a token, or with an unknown one", async (name) => {
    for (const token of [undefined, "nobodys-token-0123456789"]) {
      const { status, headers, body } = await knock(name, token);
      if (OPEN.includes(name)) {
        expect(status).toBe(200);
        continue;
      }
      expect({ status, code: body.error?.code }).toEqual({ status: 401, code: "unauthenticated" });
      expect(headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  test.each(NAMES)("%s by a client, a node and an operator", async (name) => {
    for (const kind of ["client", "node"] as const) {
      const { status, body } = await knock(name, TOKENS[kind]);
      const allowed = OPEN.includes(name) || ALLOWED[kind].includes(name);
      expect(status === 403, `${kind}: ${status}`).toBe(!allowed);
      expect(body.error?.code === "permission_denied").toBe(!allowed);
    }
    expect([401, 403]).not.toContain((await knock(name, TOKENS.operator)).status);
  });

  test("what says nothing of anybody needs no token", async () => {
    for (const path of ["/healthz", "/readyz", "/metrics", "/v1/openapi.json"]) {
      expect((await servers.call("GET", path)).status, path).toBe(200);
    }
  });
});

describe("a node's token", () => {
  test("that names a node speaks for that one only", async () => {
    expect((await heartbeat("n1", TOKENS.node1)).status).toBe(200);
    expect((await heartbeat("n2", TOKENS.node1)).status).toBe(403);
    const body = { service_instance_id: "n2-1", events: [] };
    expect((await servers.call("POST", "/v1/nodes/n2/events", { token: TOKENS.node1, body })).status).toBe(403);
  });

  test("sets and moves the endpoint of the node that it names, and nobody else does", async () => {
    const endpointOf = async (id: string) =>
      (await servers.call("GET", `/v1/nodes/${id}`, { token: TOKENS.operator })).body.node?.endpoint;
    for (const token of [TOKENS.node, TOKENS.operator]) {
      const moved = await heartbeat("n1", token, "http://thief.example:8000");
      expect({ status: moved.status, field: moved.body.error?.details }).toEqual({
        status: 403,
        field: { field: "endpoint" },
      });
      expect(await endpointOf("n1")).toBe("http://n1.example:8000");
      // Said as it is, it is no change; nor is silence.
      expect((await heartbeat("n1", token, "http://n1.example:8000")).status).toBe(200);
      expect((await heartbeat("n1", token)).status).toBe(200);
      expect((await heartbeat("n3", token, "http://n3.example:8000")).status).toBe(403);
      expect((await servers.call("GET", "/v1/nodes/n3", { token: TOKENS.operator })).status).toBe(404);
    }
    expect((await heartbeat("n2", TOKENS.node2, "http://n2.example:9000")).status).toBe(200);
    expect(await endpointOf("n2")).toBe("http://n2.example:9000");
  });
});

test("a request_id is scoped to the token that sent it", async () => {
  const [mine, again, theirs] = [
    await schedule(TOKENS.client, "r1"),
    await schedule(TOKENS.client, "r1"),
    await schedule(TOKENS.client2, "r1"),
  ];
  expect(again.body.reservation?.id).toBe(mine.body.reservation?.id);
  expect(theirs.body.reservation?.id).not.toBe(mine.body.reservation?.id);
});

test("clients act by the reservation's token, operators by its id, and only the one shows the token", async () => {
  const { id, token: secret } = (await schedule(TOKENS.client)).body.reservation ?? {};
  expect(secret).toMatch(/^rt_/);
  expect((await servers.call("GET", `/v1/reservations/${id}`, { token: TOKENS.client })).status).toBe(403);
  expect((await servers.call("POST", `/v1/reservations/${id}/cancel`, { token: TOKENS.client, body: {} })).status).toBe(
    403,
  );
  const shown = await servers.call("GET", `/v1/reservations/${id}`, { token: TOKENS.operator });
  expect(shown.body.reservation).toMatchObject({ id, state: "pending" });
  expect(shown.body.reservation).not.toHaveProperty("token");
  const listed = await servers.call("GET", "/v1/reservations", { token: TOKENS.client });
  expect(JSON.stringify(listed.body)).not.toContain("rt_");
  expect(
    (await servers.call("POST", `/v1/reservations/${secret}/cancel`, { token: TOKENS.client2, body: {} })).status,
  ).toBe(200);
});

test("a token that is taken out of the file is out of force, without a restart", async () => {
  servers.rewrite("tokens", FILE.replace(`client ${TOKENS.client2}\n`, ""));
  const look = async (token: string) => (await servers.call("GET", "/v1/reservations", { token })).status;
  await vi.waitFor(async () => expect(await look(TOKENS.client2)).toBe(401), { timeout: 5_000 });
  expect(await look(TOKENS.client)).toBe(200);
});

test("no token is ever logged", () => {
  const logged = JSON.stringify(servers.lines);
  for (const token of [...Object.values(TOKENS), "nobodys-token-0123456789"]) expect(logged).not.toContain(token);
});
