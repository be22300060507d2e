import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ScriptedLog } from "../placement/scripted-log.ts";
import { callAllThreads, callFresh, FOR_ALL_THREADS } from "./fresh-call.ts";
import { coldSandbox, freshNode, type RunningApi, startApi } from "./running-api.ts";

/** Threads load their modules on a machine that runs other tests at the same time. */
const START_MS = 60_000;
const WAIT = { timeout: 20_000, interval: 20 };
const THREADS = 3;

function open(api: RunningApi): Promise<Socket> {
  const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
  // A connection that is refused or cut may be reset: its close says enough.
  socket.on("error", () => undefined);
  return once(socket, "connect").then(() => socket);
}

const scheduleBody = JSON.stringify(coldSandbox(2, 4096));
const schedulingText = `POST /v1/schedule HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${scheduleBody.length}\r\n\r\n${scheduleBody}`;

async function sendSchedule(api: RunningApi): Promise<Socket> {
  const socket = await open(api);
  socket.write(schedulingText);
  return socket;
}

/** Two threads and one node; what is decided from now on waits for `release`. */
async function startStalled(flags: Record<string, string> = {}): Promise<{ api: RunningApi; log: ScriptedLog }> {
  const log = new ScriptedLog();
  log.onAppend = (append) => append.end(null);
  const api = await startApi({ eventLog: log, flags: { apiThreads: "2", ...flags } });
  await callFresh(api.url, { method: "POST", path: "/v1/nodes/n1/heartbeat", body: freshNode("n1") });
  log.onAppend = null;
  return { api, log };
}

function release(log: ScriptedLog): void {
  log.onAppend = (append) => append.end(null);
  for (const append of [...log.open]) append.end(null);
}

function hasCancelled(log: ScriptedLog): boolean {
  return log.kept.some((entry) => "change" in entry && entry.change.type === "cancelled");
}

describe("three threads", () => {
  let api: RunningApi;
  beforeAll(async () => {
    api = await startApi({ flags: { apiThreads: String(THREADS) } });
  }, START_MS);
  afterAll(() => api[Symbol.asyncDispose]());

  test("are actors of their own, each in a thread, and their mailboxes are seen in the metrics", async () => {
    const { text } = await callFresh(api.url, { path: "/metrics" });
    for (const actor of ["api-1", "api-2", "api-3", "placement"]) {
      expect(text).toContain(`evenkeel_mailbox_depth{actor="${actor}"} `);
      expect(text).toContain(`evenkeel_actor_failures_total{actor="${actor}"} 0`);
    }
  });

  test("all answer what asks nobody: liveness, readiness, metrics and the document", async () => {
    for (const path of ["/healthz", "/readyz", "/metrics", "/v1/openapi.json"]) {
      const answers = await callAllThreads(api.url, { path });
      expect(answers.map(({ status }) => status)).toEqual(Array(FOR_ALL_THREADS).fill(200));
    }
  });

  test("count as one: what any of them answered is in the metrics that any of them shows", async () => {
    await callFresh(api.url, { method: "POST", path: "/v1/nodes/n1/heartbeat", body: freshNode("n1") });
    const body = { hint: { new_cold_sandbox: { cpu_count: 1, memory_mb: 16 } } };
    const answers = await callAllThreads(api.url, { method: "POST", path: "/v1/schedule", body });
    const granted = answers.filter(({ status }) => status === 200).length;
    expect(granted).toBe(8);
    const shown = await callAllThreads(api.url, { path: "/metrics" });
    for (const { text } of shown) {
      const counted = /^evenkeel_schedule_duration_seconds_count\{strategy="least_loaded",status="(\w+)"\} (\d+)$/gm;
      expect(
        Object.fromEntries([...text.matchAll(counted)].map(([, status, count]) => [status, Number(count)])),
      ).toEqual({ ok: granted, no_nodes: FOR_ALL_THREADS - granted });
    }
  });
});

test(
  "every call that is refused because too many wait is counted, whichever thread refuses it",
  async () => {
    await using api = await startApi({ flags: { apiThreads: "2", mailboxCapacity: "4", stateDir: "none" } });
    await callFresh(api.url, { method: "POST", path: "/v1/nodes/n1/heartbeat", body: freshNode("n1") });
    const sockets = await Promise.all(Array.from({ length: 100 }, () => open(api)));
    let refused = 0;
    // Whether requests meet in the mailbox is up to the sockets: burst until some have.
    for (let burst = 0; burst < 50 && refused === 0; burst++) {
      const heads = sockets.map(async (socket) => {
        const [chunk] = (await once(socket, "data")) as [Buffer];
        return chunk.toString("latin1", 9, 12);
      });
      for (const socket of sockets) socket.write(schedulingText);
      refused = (await Promise.all(heads)).filter((status) => status === "429").length;
    }
    for (const socket of sockets) socket.destroy();
    expect(refused).toBeGreaterThan(0);
    const { text } = await callFresh(api.url, { path: "/metrics" });
    expect(text).toContain(`evenkeel_mailbox_rejected_total{actor="placement"} ${refused}\n`);
  },
  START_MS,
);

test(
  "a schedule whose caller has gone before the answer is cancelled, and connections_max is the process's",
  async () => {
    const { api, log } = await startStalled({ connectionsMax: "1" });
    await using _ended = api;
    const socket = await vi.waitFor(async () => {
      const opened = await sendSchedule(api);
      await vi.waitFor(() => expect(log.open.length + Number(opened.closed)).toBe(1), WAIT);
      if (opened.closed) throw new Error("the connection before it is still open");
      return opened;
    }, WAIT);

    // Whichever thread a connection reaches, it is the second.
    const others = await Promise.allSettled(
      Array.from({ length: FOR_ALL_THREADS }, () => callFresh(api.url, { path: "/v1/openapi.json" })),
    );
    expect(others.map(({ status }) => status)).toEqual(Array(FOR_ALL_THREADS).fill("rejected"));

    socket.destroy();
    await vi.waitFor(() => callFresh(api.url, { path: "/healthz" }), WAIT);
    release(log);
    await vi.waitFor(() => expect(hasCancelled(log)).toBe(true), WAIT);
  },
  START_MS,
);

test(
  "a schedule whose thread ends before the answer is cancelled: its caller's connection went with it",
  async () => {
    const { api, log } = await startStalled();
    await using _ended = api;
    const socket = await sendSchedule(api);
    await vi.waitFor(() => expect(log.open).toHaveLength(1), WAIT);
    const ended = new Promise((closed) => socket.resume().once("close", closed));
    await Promise.all([api.endThread("api-1"), api.endThread("api-2"), ended]);
    release(log);
    await vi.waitFor(() => expect(hasCancelled(log)).toBe(true), WAIT);
  },
  START_MS,
);

test(
  "readiness and liveness do not wait for the log that decisions wait for, and stopping drains every thread",
  async () => {
    const { api, log } = await startStalled();
    await using _ended = api;
    const sockets = await Promise.all([1, 2, 3].map(() => sendSchedule(api)));
    const received = sockets.map(async (socket) => {
      let text = "";
      for await (const chunk of socket.setEncoding("utf8")) text += chunk;
      return text;
    });
    await vi.waitFor(() => expect(log.open).toHaveLength(1), WAIT);
    // These come later than the schedules, to each thread.
    expect((await callAllThreads(api.url, { path: "/readyz" })).map(({ status }) => status)).toEqual(
      Array(FOR_ALL_THREADS).fill(200),
    );
    // Far beyond the end of this test: an answered connection that is kept alive must not use it up.
    const closed = api.scheduler.http.close(10 * START_MS);
    await vi.waitFor(() => expect(callFresh(api.url, { path: "/healthz" })).rejects.toThrow(/ECONNREFUSED/), WAIT);
    release(log);
    await closed;
    for (const text of await Promise.all(received)) expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*"state":"pending"/);
    expect(hasCancelled(log)).toBe(false);
  },
  START_MS,
);

test(
  "a thread that ends listens again, and the others serve meanwhile",
  async () => {
    await using api = await startApi({ flags: { apiThreads: "2" } });
    const restarted = api.restarted("api-2");
    expect(await api.endThread("api-2")).toBe(true);
    const meanwhile = await callAllThreads(api.url, { path: "/v1/nodes" });
    expect(meanwhile.map(({ status }) => status)).toEqual(Array(FOR_ALL_THREADS).fill(200));
    await restarted;
    // Only the thread that was started again is left to answer.
    await vi.waitFor(async () => {
      await api.endThread("api-1");
      expect((await callFresh(api.url, { path: "/v1/nodes" })).status).toBe(200);
    }, WAIT);
  },
  START_MS,
);

describe("a port that another one has is refused, though the sockets of threads could share it,", () => {
  test.each([
    ["a server that shares nothing", false],
    ["a server that shares its port", true],
  ])(
    "by %s",
    async (_, reusePort) => {
      const holder = createServer().listen({ host: "127.0.0.1", port: 0, reusePort });
      await once(holder, "listening");
      const { port } = holder.address() as AddressInfo;
      await using api = await startApi({ flags: { apiThreads: "2" } });
      await expect(api.scheduler.http.listen({ host: "127.0.0.1", port })).rejects.toMatchObject({
        code: "EADDRINUSE",
      });
      holder.close();
    },
    START_MS,
  );

  test(
    "and a server that comes later and shares nothing is refused by them",
    async () => {
      await using api = await startApi({ flags: { apiThreads: "2" } });
      const late = createHttpServer().listen({ host: "127.0.0.1", port: Number(new URL(api.url).port) });
      const [error] = await once(late, "error");
      expect(error).toMatchObject({ code: "EADDRINUSE" });
    },
    START_MS,
  );
});
