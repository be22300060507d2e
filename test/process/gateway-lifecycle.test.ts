/** Leases, late and lost confirms, clients that leave, nodes that are gone, and the gateway's own end. */
import { expect, test } from "vitest";
import { GatewayWorld, type WorldOptions } from "./gateway-world.ts";
import { SchedulerProcess } from "./scheduler-process.ts";

const start = (options: Partial<WorldOptions> = {}): Promise<GatewayWorld> =>
  GatewayWorld.start({ nodes: ["node-a"], ...options });
const confirms = (result: string): string => `evenkeel_gateway_closings_total{call="confirm",result="${result}"}`;

async function pause(scheduler: SchedulerProcess, signal: "SIGSTOP" | "SIGCONT"): Promise<void> {
  if (scheduler.pid === undefined) throw new Error("the scheduler has no process id");
  process.kill(scheduler.pid, signal);
}

test("while a create runs, its lease is renewed", async () => {
  await using world = await start({ schedulerArgs: ["--placement-reservation-ttl", "1s"] });
  const create = world.create("held");
  await world.node("node-a").untilHeld(1);
  const leaseEnds = async (): Promise<number> => Date.parse((await world.reservations())[0]?.expires_at ?? "");
  const first = await leaseEnds();
  await expect.poll(leaseEnds, { timeout: 10_000 }).toBeGreaterThan(first + 1_500);
  await world.node("node-a").release();
  expect((await create).status).toBe(201);
  expect(await world.reservations()).toMatchObject([{ state: "confirmed", late: false }]);
});

const AGED = ["--placement-reservation-ttl", "1s", "--max-reservation-age", "1s", "--uncertain-ttl", "1s"];

/** A create whose confirm comes late, when another one has taken its place. */
async function confirmLate(world: GatewayWorld): Promise<Response> {
  const late = world.create("held", { body: { cpuCount: 4, memoryMB: 1024 } });
  await world.node("node-a").untilHeld(1);
  await world.until(([first]) => first?.state === "expired");
  expect((await world.create("201", { body: { cpuCount: 4, memoryMB: 1024 } })).status).toBe(201);
  await world.node("node-a").release();
  return late;
}

test("a late confirm that no longer fits keeps the sandbox, and charges it", async () => {
  await using world = await start({ cpuCount: 4, schedulerArgs: AGED });
  const response = await confirmLate(world);
  expect(response.status).toBe(201);
  const sandboxId = response.headers.get("x-agentenv-sandbox-id");
  const charged = await world.reservations();
  expect(charged.find(({ sandbox_id }) => sandbox_id === sandboxId)).toMatchObject({
    state: "confirmed",
    late: true,
    cpu: 4,
  });
  expect([await world.metric(confirms("expired")), await world.metric(confirms("confirmed"))]).toEqual([1, 2]);
});

test("or destroys it, and says so to the client", async () => {
  await using world = await start({
    cpuCount: 4,
    schedulerArgs: AGED,
    gatewayArgs: ["--on-expired", "destroy"],
  });
  const response = await confirmLate(world);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ error: { code: "expired" } });
  expect(await world.node("node-a").sandboxes()).toHaveLength(1);
  const states = (await world.reservations()).map(({ state }) => state).sort();
  expect(states).toEqual(["confirmed", "expired"]);
});

test("a confirm that is not answered within 2 s does not keep the client, and is repeated", async () => {
  await using world = await start();
  const create = world.create("held");
  await world.node("node-a").untilHeld(1);
  await pause(world.scheduler, "SIGSTOP");
  await world.node("node-a").release();
  const response = await create;
  expect(response.status).toBe(201);
  expect(await world.metric("evenkeel_gateway_closings_postponed")).toBe(1);
  await pause(world.scheduler, "SIGCONT");
  const sandboxId = response.headers.get("x-agentenv-sandbox-id");
  await world.until(([only]) => only?.state === "confirmed" && only.sandbox_id === sandboxId);
  await expect.poll(() => world.metric("evenkeel_gateway_closings_postponed")).toBe(0);
  expect([await world.metric(confirms("postponed")), await world.metric(confirms("confirmed"))]).toEqual([1, 1]);
});

test("a scheduler that has forgotten the reservation: the sandbox is found all the same", async () => {
  await using world = await start();
  const create = world.create("held");
  const node = world.node("node-a");
  await node.untilHeld(1);
  const { port } = world.scheduler;
  await world.scheduler.stop("SIGKILL");
  world.scheduler = await SchedulerProcess.start(["--state-dir", "none", "--http", `127.0.0.1:${port}`]);
  await node.report();
  await node.release();
  const response = await create;
  expect(response.status).toBe(201);
  expect(await world.metric(confirms("unknown"))).toBe(1);
  const sandboxId = response.headers.get("x-agentenv-sandbox-id");
  expect((await fetch(`${world.url}/sandboxes/${sandboxId}`)).status).toBe(200);
  // Other gateways find it as well, before the node's next roster.
  await expect.poll(() => world.metric('evenkeel_gateway_closings_total{call="record",result="ok"}')).toBe(1);
  const known = await fetch(`${world.scheduler.url}/v1/sandboxes/${sandboxId}`);
  expect(await known.json()).toMatchObject({ node: { node_id: "node-a" } });
});

test("one sandbox id twice: the client has its answer, and an operator an error", async () => {
  await using world = await start();
  const headers = { "x-wanted-id": "twice" };
  expect((await world.create("201", { headers })).status).toBe(201);
  expect((await world.create("201", { headers })).status).toBe(201);
  expect(await world.metric(confirms("conflict"))).toBe(1);
  const errors = world.program.stderr.split("\n").filter((line) => line.includes('"level":50'));
  expect(errors).toHaveLength(1);
  expect(errors[0]).toContain("twice");
});

test("a client that leaves while its node works: uncertain, and the node is left alone", async () => {
  await using world = await start();
  const client = new AbortController();
  const create = world.create("held", { signal: client.signal }).catch(() => "left");
  await world.node("node-a").untilHeld(1);
  client.abort();
  expect(await create).toBe("left");
  await world.until(([only]) => only?.state === "pending" && only.uncertain);
  await expect.poll(() => world.metric("evenkeel_gateway_creates_running")).toBe(0);
  expect(await world.metric('evenkeel_gateway_create_duration_seconds_count{result="client_gone"}')).toBe(1);
});

test("a client that leaves before any node was asked: cancelled", async () => {
  await using world = await start();
  await pause(world.scheduler, "SIGSTOP");
  const client = new AbortController();
  const create = world.create("201", { signal: client.signal }).catch(() => "left");
  await expect.poll(() => world.metric("evenkeel_gateway_creates_running")).toBe(1);
  client.abort();
  expect(await create).toBe("left");
  await pause(world.scheduler, "SIGCONT");
  await world.until(([only]) => only?.state === "cancelled" && only.reason === "client_gone");
  expect(await world.node("node-a").sandboxes()).toEqual([]);
});

test("a node that is gone is passed over; with none left, nothing was created", async () => {
  await using world = await start({ nodes: ["node-a", "node-b"] });
  await world.node("node-a").kill();
  expect((await world.create("201")).status).toBe(201);
  expect((await world.create("201")).status).toBe(201);
  const made = await world.newReservations();
  const [first] = made;
  expect(first).toMatchObject({ node_id: "node-a", state: "cancelled", reason: "refused" });
  expect(made.filter(({ state }) => state === "confirmed").map(({ node_id }) => node_id)).toEqual(["node-b", "node-b"]);
  await world.node("node-b").kill();
  const response = await world.create("201");
  expect(response.status).toBe(503);
  const { error } = (await response.json()) as { error: { code: string; details: object } };
  expect(error).toMatchObject({ code: "unavailable", details: { retry: "unchanged" } });
  expect((await world.newReservations()).map(({ state, reason }) => [state, reason])).toEqual([
    ["cancelled", "refused"],
    ["cancelled", "refused"],
  ]);
});

test("a node that closes each connection: the request was written, so nobody knows", async () => {
  await using world = await start();
  await world.node("node-a").closeConnections();
  const response = await world.create("201");
  expect(response.status).toBe(502);
  expect(await world.reservations()).toMatchObject([{ state: "pending", uncertain: true }]);
});

test("at most --max-attempts nodes are tried", async () => {
  await using world = await start({ nodes: ["node-a", "node-b", "node-c"], gatewayArgs: ["--max-attempts", "2"] });
  const response = await world.create("503");
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ said: "503" });
  const made = await world.reservations();
  expect(made.map(({ state, reason }) => [state, reason])).toEqual([
    ["cancelled", "refused"],
    ["cancelled", "refused"],
  ]);
  expect(new Set(made.map(({ node_id }) => node_id)).size).toBe(2);
});

test("no room: the scheduler's answer, with its reasons", async () => {
  await using world = await start({ cpuCount: 1 });
  const response = await world.create("201", { body: { cpuCount: 2 } });
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({
    error: { code: "no_nodes", details: { reasons: { "insufficient cpu": 1 } } },
  });
});

test("told to stop it drains: running creates finish, new ones are not taken", async () => {
  await using world = await start();
  const create = world.create("held");
  await world.node("node-a").untilHeld(1);
  const stopped = world.program.stop();
  await expect.poll(async () => (await fetch(`${world.adminUrl}/readyz`)).status).toBe(503);
  expect((await fetch(`${world.adminUrl}/healthz`)).status).toBe(200);
  await expect(world.create("201")).rejects.toThrow();
  await world.node("node-a").release();
  expect((await create).status).toBe(201);
  expect((await stopped).code).toBe(0);
  expect(await world.reservations()).toMatchObject([{ state: "confirmed" }]);
});

test("what is not done when the drain ends is marked as uncertain", async () => {
  await using world = await start({ gatewayArgs: ["--drain", "500ms"] });
  const create = world.create("held");
  await world.node("node-a").untilHeld(1);
  const stopped = world.program.stop();
  const response = await create;
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ error: { code: "unavailable", details: { outcome: "unknown" } } });
  expect((await stopped).code).toBe(0);
  expect(await world.reservations()).toMatchObject([{ state: "pending", uncertain: true }]);
});
