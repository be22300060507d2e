import { Metadata } from "@grpc/grpc-js";
import { expect, test, vi } from "vitest";
import { ActorSystem } from "../../../src/actors/kernel/system.ts";
import type { EventLog } from "../../../src/actors/placement/event-log.ts";
import { HeartbeatRequest, SchedulerService } from "../../../src/messages/proto/generated/scheduler/v1/scheduler.ts";
import { systemClock } from "../../../src/ports/clock.ts";
import { systemRandom } from "../../../src/ports/random.ts";
import { openAccess } from "../../../src/programs/access.ts";
import { createGrpcApi } from "../../../src/programs/grpc-api.ts";
import { startScheduler } from "../../../src/programs/scheduler.ts";
import { resolveSchedulerSettings } from "../../../src/programs/scheduler-settings.ts";
import { recordingLog } from "../../fakes/log.ts";
import { coldSandbox, GrpcClient, heartbeatOf, status } from "./client.ts";

/** A log whose commits wait while it is held: answers wait with them. */
function heldLog(): EventLog & { hold(): void; release(): void; readonly waiting: number } {
  let held = false;
  let waiting: (() => void)[] = [];
  return {
    append(_events, done) {
      if (held) waiting.push(() => done(null));
      else done(null);
    },
    note: () => undefined,
    read: null,
    hold() {
      held = true;
    },
    release() {
      held = false;
      const commits = waiting;
      waiting = [];
      for (const commit of commits) commit();
    },
    get waiting() {
      return waiting.length;
    },
  };
}

/** A scheduler's actors and its gRPC server in this process. */
async function start(flags: Record<string, string> = {}) {
  const log = recordingLog();
  const eventLog = heldLog();
  const clock = systemClock;
  const system = new ActorSystem({ clock, random: systemRandom, logFor: () => log });
  const settings = resolveSchedulerSettings({ flags, environment: {}, file: null });
  const access = openAccess(settings, { clock, log });
  const { placement, directories, http } = startScheduler({ system, settings, access, log, clock, eventLog });
  const grpc = await createGrpcApi({ settings, placement, directories, access, clock, log });
  const { host, port } = await grpc.listen({ host: "127.0.0.1", port: 0 });
  const client = new GrpcClient(`${host}:${port}`);
  const endpoint = "http://n:8000";
  await placement.ask({
    type: "heartbeat",
    nodeId: "n",
    endpoint,
    clusterId: null,
    version: null,
    serviceInstanceId: "daemon",
    sequence: null,
    snapshot: null,
    sandboxIds: null,
    resource: null,
    resourceSequence: null,
    bootId: null,
    inventoryNone: false,
  });
  await client.heartbeat("n");
  return {
    client,
    eventLog,
    close: (graceMs: number) => grpc.close(graceMs),
    async [Symbol.asyncDispose]() {
      eventLog.release();
      client[Symbol.dispose]();
      await grpc.close(1_000);
      await http.close(1_000);
      await system.stop(1_000);
    },
  };
}

/** Schedules, and hangs up when the decision is made but not yet committed. */
async function scheduleAndLeave(api: Awaited<ReturnType<typeof start>>, fields: Record<string, string>): Promise<void> {
  const { client, eventLog } = api;
  const { schedule } = SchedulerService;
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(fields)) metadata.set(key, value);
  eventLog.hold();
  let ended: unknown = null;
  const call = client.raw.makeUnaryRequest(
    schedule.path,
    schedule.requestSerialize,
    schedule.responseDeserialize,
    coldSandbox(1, 1024),
    metadata,
    (error) => {
      ended = error?.code;
    },
  );
  await vi.waitFor(() => expect(eventLog.waiting).toBe(1));
  call.cancel();
  await vi.waitFor(() => expect(ended).toBe(status.CANCELLED));
  // Behind the cancellation on the same connection, and answered by nobody who waits for the log.
  await client.send("/grpc.health.v1.Health/Check", Buffer.alloc(0));
  eventLog.release();
}

test("a schedule whose caller has gone before its answer was written is cancelled", async () => {
  await using api = await start();
  await scheduleAndLeave(api, { "evenkeel-managed": "1" });
  await vi.waitFor(async () => {
    const { reservations } = await api.client.ask("list", { nodeId: "n", state: 4, limit: 0, cursor: "" });
    expect(reservations).toHaveLength(1);
    expect(reservations[0]).toMatchObject({ managed: true, cpuMillicores: 0n });
  });
});

test("with a request id it is uncertain instead: its repeat finds it", async () => {
  await using api = await start();
  const fields = { "evenkeel-managed": "1", "evenkeel-request-id": "r1" };
  await scheduleAndLeave(api, fields);
  await vi.waitFor(async () => {
    const { reservations } = await api.client.ask("list", { nodeId: "n", state: 1, limit: 0, cursor: "" });
    expect(reservations).toHaveLength(1);
    expect(reservations[0]).toMatchObject({ uncertain: true, cpuMillicores: 1000n });
  });
  const { metadata } = await api.client.call("schedule", coldSandbox(1, 1024), fields);
  expect(metadata.get("evenkeel-reservation-token")).toHaveLength(1);
});

test("a schedule that was answered stays", async () => {
  await using api = await start();
  await api.client.ask("schedule", coldSandbox(1, 1024));
  const { reservations } = await api.client.ask("list", { nodeId: "n", state: 0, limit: 0, cursor: "" });
  expect(reservations).toHaveLength(1);
  expect(reservations[0]).toMatchObject({ state: 1, uncertain: false });
});

test("a full mailbox is RESOURCE_EXHAUSTED, and nothing was changed", async () => {
  await using api = await start({ mailboxCapacity: "1" });
  const calls = Array.from({ length: 200 }, () =>
    api.client.ask("schedule", coldSandbox(1, 1)).then(
      () => "ok" as const,
      ({ code }: { code: number }) => code,
    ),
  );
  const ends = await Promise.all(calls);
  const refused = ends.filter((end) => end === status.RESOURCE_EXHAUSTED).length;
  const reserved = ends.filter((end) => end === "ok").length;
  expect(refused).toBeGreaterThan(0);
  expect(refused + reserved + ends.filter((end) => end === status.UNAVAILABLE).length).toBe(200);
  const { reservations } = await api.client.ask("list", { nodeId: "n", state: 0, limit: 0, cursor: "" });
  expect(reservations).toHaveLength(reserved);
});

test("a heartbeat without a snapshot is a heartbeat with an empty one", async () => {
  await using api = await start();
  const request = { ...heartbeatOf("n", { sandboxIds: ["s1"] }), snapshot: undefined };
  expect(await api.client.ask("heartbeat", request)).toEqual({ cpuConfigJson: "" });
  const { node } = await api.client.ask("getNode", { nodeId: "n", clusterId: "" });
  expect(node?.snapshot).toMatchObject({ status: 2, cpuCount: 0 });
  expect((await api.client.ask("lookupNode", { sandboxId: "s1" })).node?.nodeId).toBe("n");
  expect(HeartbeatRequest.decode(HeartbeatRequest.encode(request).finish()).snapshot).toBeUndefined();
});

test("a stop answers the calls that run", async () => {
  const api = await start();
  api.eventLog.hold();
  const running = api.client.ask("schedule", coldSandbox(1, 1024));
  await vi.waitFor(() => expect(api.eventLog.waiting).toBe(1));
  const closing = api.close(5_000);
  api.eventLog.release();
  expect((await running).node?.nodeId).toBe("n");
  await closing;
  expect(await api.client.refusal("listNodes", {})).toMatchObject({ code: status.UNAVAILABLE });
  await api[Symbol.asyncDispose]();
});

test("and cuts those that outlast its patience", async () => {
  const api = await start();
  api.eventLog.hold();
  const running = api.client.refusal("schedule", coldSandbox(1, 1024));
  await vi.waitFor(() => expect(api.eventLog.waiting).toBe(1));
  await api.close(50);
  expect((await running).code).toBe(status.UNAVAILABLE);
  await api[Symbol.asyncDispose]();
});
