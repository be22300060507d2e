import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RESERVATIONS_CALLERS, SCHEDULER_CALLERS } from "../../../src/actors/api/grpc/callers.ts";
import { ReservationsService } from "../../../src/messages/proto/generated/evenkeel/v1/reservations.ts";
import { SchedulerService } from "../../../src/messages/proto/generated/scheduler/v1/scheduler.ts";
import { coldSandbox, GrpcClient, heartbeatOf, refusedOf, status } from "../grpc/client.ts";
import { RunningServers } from "./running-servers.ts";

const CLIENT = "client-token-0123456789";
const CLIENT2 = "second-client-0123456789";
const NODE = "any-node-token-0123456789";
const NODE1 = "first-node-token-0123456789";
const OPERATOR = "operator-token-0123456789";

const as = (token: string, more: Record<string, string> = {}): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  ...more,
});

let servers: RunningServers;
let client: GrpcClient;
beforeAll(async () => {
  servers = await RunningServers.start({
    files: { tokens: `client ${CLIENT}\nclient ${CLIENT2}\nnode ${NODE}\nnode n1 ${NODE1}\noperator ${OPERATOR}\n` },
    config: {
      nodes: [
        { id: "n1", endpoint: "http://n1:8000" },
        { id: "n2", endpoint: "http://n2:8000" },
      ],
      start_guard: "0s",
    },
  });
  client = new GrpcClient(servers.grpcAddress);
  await client.ask("heartbeat", heartbeatOf("n1", {}), as(NODE1));
  await client.ask("heartbeat", heartbeatOf("n2", {}), as(NODE));
});
afterAll(async () => {
  client[Symbol.dispose]();
  await servers[Symbol.asyncDispose]();
});

const METHODS = [
  ...Object.entries(SchedulerService).map(([name, { path }]) => ({
    name,
    path,
    callers: SCHEDULER_CALLERS[name as keyof SchedulerService],
  })),
  ...Object.entries(ReservationsService).map(([name, { path }]) => ({
    name,
    path,
    callers: RESERVATIONS_CALLERS[name as keyof ReservationsService],
  })),
];

describe("every call", () => {
  // A message that is no message: whoever is let in is refused for it, and changes nothing.
  const knock = (path: string, metadata: Record<string, string>) =>
    refusedOf(client.send(path, Buffer.from([0xff]), metadata));

  test.each(METHODS)("$name without a token, or with an unknown one", async ({ path }) => {
    for (const metadata of [{}, as("nobodys-token-0123456789"), { authorization: CLIENT }]) {
      expect((await knock(path, metadata)).code).toBe(status.UNAUTHENTICATED);
    }
  });

  test.each(METHODS)("$name by each kind", async ({ path, callers }) => {
    const codes = {
      client: (await knock(path, as(CLIENT))).code,
      node: (await knock(path, as(NODE))).code,
      "own node": (await knock(path, as(NODE1))).code,
      operator: (await knock(path, as(OPERATOR))).code,
    };
    const allowed = (kind: string): boolean =>
      kind === "operator" || kind === callers || (kind === "own node" && callers === "node");
    for (const [kind, code] of Object.entries(codes)) {
      expect(code, kind).toBe(allowed(kind) ? status.INVALID_ARGUMENT : status.PERMISSION_DENIED);
    }
  });
});

test("a node's token that names a node speaks and says goodbye for that one only", async () => {
  expect(await client.refusal("heartbeat", heartbeatOf("n2", {}), as(NODE1))).toMatchObject({
    code: status.PERMISSION_DENIED,
    details: "the token is another node's",
  });
  const goodbye = { nodeId: "n2", serviceInstanceId: "n2-1" };
  expect((await client.refusal("unregisterNode", goodbye, as(NODE1))).code).toBe(status.PERMISSION_DENIED);
  expect((await client.refusal("unregisterNode", goodbye, as(NODE))).code).toBe(status.PERMISSION_DENIED);
  await client.ask("unregisterNode", { nodeId: "n1", serviceInstanceId: "n1-1" }, as(NODE1));
});

test("a request_id is scoped to the token that sent it, and shared with the HTTP API", async () => {
  const managed = { "evenkeel-managed": "1", "evenkeel-request-id": "r1" };
  const tokenOf = async (token: string): Promise<unknown> =>
    (await client.call("schedule", coldSandbox(1, 1024), as(token, managed))).metadata.get(
      "evenkeel-reservation-token",
    )[0];
  const mine = await tokenOf(CLIENT);
  expect(mine).toMatch(/^rt_/);
  expect(await tokenOf(CLIENT)).toBe(mine);
  expect(await tokenOf(CLIENT2)).not.toBe(mine);
  const body = { request_id: "r1", hint: { new_cold_sandbox: { cpu_count: 1, memory_mb: 1024 } } };
  expect((await servers.call("POST", "/v1/schedule", { token: CLIENT, body })).body.reservation?.token).toBe(mine);
});

test("only operators act by a reservation's id", async () => {
  const { reservations } = await client.ask("list", { nodeId: "", state: 0, limit: 1, cursor: "" }, as(CLIENT));
  const handle = { token: reservations[0]?.id ?? "" };
  expect(handle.token).toMatch(/^rs_/);
  expect((await client.refusal("get", handle, as(CLIENT))).code).toBe(status.PERMISSION_DENIED);
  expect((await client.ask("get", handle, as(OPERATOR))).reservation?.token).toBeUndefined();
});
