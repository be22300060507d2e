import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test, vi } from "vitest";
import type { Clock } from "../../../src/ports/clock.ts";
import { fakeClock, turns } from "../../fakes/clock.ts";
import { ScriptedLog } from "../placement/scripted-log.ts";
import { coldSandbox, freshNode, type RunningApi, startApi } from "./running-api.ts";

const GRACE_MS = 50;

/** A scheduler whose log holds each answer back until the test lets it go. */
async function startHeld(clock?: Clock): Promise<{ api: RunningApi; log: ScriptedLog }> {
  const log = new ScriptedLog();
  log.onAppend = (append) => append.end(null);
  const api = await startApi({ eventLog: log, ...(clock === undefined ? {} : { clock }) });
  await api.post("/v1/nodes/n1/heartbeat", freshNode("n1"));
  log.onAppend = null;
  return { api, log };
}

async function sendSchedule(api: RunningApi, body: object): Promise<Socket> {
  const text = JSON.stringify(body);
  const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.write(
    `POST /v1/schedule HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  );
  return socket;
}

async function openAppend(log: ScriptedLog): Promise<NonNullable<(typeof log.open)[number]>> {
  return vi.waitFor(() => {
    const [append] = log.open;
    if (append === undefined) throw new Error("nothing is being committed");
    return append;
  });
}

/** Connections that the server holds. */
function connections(api: RunningApi): Promise<number> {
  return new Promise((resolve, reject) => {
    api.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
}

async function stateOf(api: RunningApi): Promise<unknown> {
  const lists = await Promise.all(["pending", "cancelled"].map((state) => api.get(`/v1/reservations?state=${state}`)));
  return lists.flatMap(({ body }) => body.reservations.map(({ state, uncertain }) => ({ state, uncertain })));
}

async function loseAnswer(api: RunningApi, log: ScriptedLog, body: object): Promise<void> {
  const before = await connections(api);
  const socket = await sendSchedule(api, body);
  const append = await openAppend(log);
  socket.destroy();
  await vi.waitFor(async () => expect(await connections(api)).toBeLessThanOrEqual(before));
  log.onAppend = (next) => next.end(null);
  append.end(null);
}

test("a schedule whose caller has gone before the answer is cancelled", async () => {
  const { api, log } = await startHeld();
  await using _ = api;
  await loseAnswer(api, log, coldSandbox(2, 4096));
  await vi.waitFor(async () => expect(await stateOf(api)).toEqual([{ state: "cancelled", uncertain: false }]));
  expect((await api.get("/v1/nodes/n1")).body.node.in_flight).toEqual({ cpu: 0, memory_bytes: 0, count: 0 });
});

test("one with a request_id, which can be repeated, is marked uncertain instead", async () => {
  const { api, log } = await startHeld();
  await using _ = api;
  await loseAnswer(api, log, { ...coldSandbox(2, 4096), request_id: "again" });
  await vi.waitFor(async () => expect(await stateOf(api)).toEqual([{ state: "pending", uncertain: true }]));
  const repeat = await api.post("/v1/schedule", { ...coldSandbox(2, 4096), request_id: "again" });
  expect(repeat.body.reservation).toMatchObject({ state: "pending", uncertain: true });
});

test("one whose answer arrived stays, also when the connection ends right after it", async () => {
  const { api, log } = await startHeld();
  await using _ = api;
  log.onAppend = (append) => append.end(null);
  const socket = await sendSchedule(api, coldSandbox(2, 4096));
  const [chunk] = (await once(socket, "data")) as [Buffer];
  expect(chunk.toString()).toMatch(/^HTTP\/1\.1 200 /);
  socket.destroy();
  await once(socket, "close");
  expect(await stateOf(api)).toEqual([{ state: "pending", uncertain: false }]);
});

test("stopping answers what is running and refuses what still comes", async () => {
  const { api, log } = await startHeld();
  await using _ = api;
  const socket = await sendSchedule(api, coldSandbox(2, 4096));
  let received = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    received += text;
  });
  const append = await openAppend(log);
  const closed = api.scheduler.http.close(10_000);
  const arrived = once(api.server, "request");
  socket.write("GET /v1/nodes HTTP/1.1\r\nHost: x\r\n\r\n");
  await arrived;
  append.end(null);
  await closed;
  if (!socket.closed) await once(socket, "close");
  const [first = "", second = ""] = received.split(/(?=HTTP\/1\.1 )/);
  expect(first).toMatch(/^HTTP\/1\.1 200 [\s\S]*"state":"pending"/);
  expect(second).toMatch(/^HTTP\/1\.1 503 [\s\S]*"retry":"unchanged"/);
  await expect(api.get("/healthz")).rejects.toThrow();
  expect(log.kept.some((entry) => "change" in entry && entry.change.type === "cancelled")).toBe(false);
});

test("stopping does not wait for a connection that its client keeps after the last answer", async () => {
  const { api, log } = await startHeld();
  await using _ = api;
  const socket = await sendSchedule(api, coldSandbox(2, 4096));
  const append = await openAppend(log);
  const closed = api.scheduler.http.close(3_600_000);
  append.end(null);
  const [chunk] = (await once(socket, "data")) as [Buffer];
  expect(chunk.toString()).toMatch(/^HTTP\/1\.1 200 /);
  await closed;
});

test("stopping cuts what does not end within its grace, not before, and marks nothing as delivered", async () => {
  const clock = fakeClock();
  const { api, log } = await startHeld(clock);
  await using _ = api;
  const socket = await sendSchedule(api, coldSandbox(2, 4096));
  let received = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    received += text;
  });
  const append = await openAppend(log);
  let closed = false;
  const closing = api.scheduler.http.close(GRACE_MS).then(() => {
    closed = true;
  });
  clock.advance(GRACE_MS - 1);
  await turns(20);
  expect([closed, socket.closed, await connections(api)]).toEqual([false, false, 1]);

  const cut = once(socket, "close");
  clock.advance(1);
  await Promise.all([cut, closing]);
  expect([received, await connections(api)]).toEqual(["", 0]);
  // Nobody heard of the reservation: it is cancelled when its commit ends.
  log.onAppend = (next) => next.end(null);
  append.end(null);
  await vi.waitFor(() => {
    expect(log.kept.some((entry) => "change" in entry && entry.change.type === "cancelled")).toBe(true);
  });
});
