import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { Server } from "@grpc/grpc-js";
import { describe, expect, test, vi } from "vitest";
import { type Bounds, usualBounds } from "../../../src/actors/api/bounds.ts";
import { createAdmission, type Peer } from "../../../src/actors/api/grpc/admission.ts";
import { createGrpcListener } from "../../../src/actors/api/grpc/listener.ts";
import type { Conclusion, Handlers } from "../../../src/actors/api/handled.ts";
import { createHttpServer, openAccess } from "../../../src/actors/api/http-server.ts";
import { openGate } from "../../../src/actors/api/tokens.ts";
import { systemClock } from "../../../src/ports/clock.ts";
import { fakeClock } from "../../fakes/clock.ts";
import { recordingLog } from "../../fakes/log.ts";

/** Short ones: what is tested is that each holds, and what happens then. */
const SHORT = { headWithinMs: 150, requestWithinMs: 300, checkedEveryMs: 20, idleMs: 100 } as const;
const WAIT = { timeout: 10_000, interval: 5 };

async function startHttp(bounds: Partial<Bounds>, { metrics = "", clock = systemClock } = {}) {
  const answer = (_input: unknown, _caller: unknown, conclusion: Conclusion<unknown>) =>
    conclusion.finish({ ok: true, answer: { status: "ok" } });
  const server = createHttpServer({
    handlers: new Proxy({} as Handlers, { get: () => answer }),
    metrics: { contentType: "text/plain", text: async () => metrics },
    version: "1.2.3",
    access: { ...openAccess, bounds: { ...usualBounds, ...bounds } },
    clock,
    log: recordingLog(),
  });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  const sockets = new Map<number | undefined, Socket>();
  server.app.server.on("connection", (socket: Socket) => {
    const { remotePort } = socket;
    sockets.set(remotePort, socket);
    socket.once("close", () => sockets.delete(remotePort));
  });
  return {
    port,
    /** The server's end of this connection; null when it holds none. */
    socketOf: ({ localPort }: Socket) => sockets.get(localPort) ?? null,
    async [Symbol.asyncDispose]() {
      await server.close(0);
    },
  };
}

/** All that comes until the other side ends the connection; `more` is sent a byte at a time, for as long as it takes. */
async function trickle(port: number, head: string, more: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    received += text;
  });
  socket.on("error", () => undefined);
  socket.write(head);
  let sent = 0;
  const next = (): void => {
    if (socket.destroyed) return;
    socket.write(more.charAt(sent++ % more.length));
    systemClock.after(10, next);
  };
  if (more !== "") next();
  await new Promise((resolve) => socket.once("close", resolve));
  return received;
}

describe("a connection", () => {
  test("that sends the head of a request a byte at a time is dropped", async () => {
    await using server = await startHttp(SHORT);
    const received = await trickle(server.port, "GET /healthz HTTP/1.1\r\nHost: x\r\n", "X: y\r\n");
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
    expect(JSON.parse(received.slice(received.indexOf("\r\n\r\n") + 4)).error.message).toBe(
      "the request did not arrive in time",
    );
  });

  test("that sends a body a byte at a time is dropped", async () => {
    await using server = await startHttp(SHORT);
    const head =
      "POST /v1/schedule HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n";
    expect(await trickle(server.port, head, " ")).toMatch(/^(HTTP\/1\.1 408 |$)/);
  });

  test("that sends nothing, or nothing more, is dropped", async () => {
    await using server = await startHttp(SHORT);
    expect(await trickle(server.port, "", "")).toMatch(/^(HTTP\/1\.1 408 |$)/);
    expect(await trickle(server.port, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "")).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("whose answer waits to be taken is given stalledMs, and is dropped when Node says that they are over", async () => {
    const bytes = 50 * 2 ** 20;
    const clock = fakeClock();
    // Far beyond the end of this test: what Node itself does then is done here.
    const stalledMs = 600_000;
    await using server = await startHttp({ checkedEveryMs: 20, stalledMs }, { metrics: "x".repeat(bytes), clock });
    const readers = await Promise.all([open(server.port), open(server.port), open(server.port)]);
    const [stalled, slow, idle] = readers as [Socket, Socket, Socket];
    for (const socket of [stalled, slow]) socket.pause().write("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    const timeouts = () => readers.map((reader) => server.socketOf(reader)?.timeout ?? 0);
    const waiting = () => [stalled, slow].map((reader) => (server.socketOf(reader)?.writableLength ?? 0) > 0);
    await vi.waitFor(() => expect(waiting()).toEqual([true, true]), WAIT);
    clock.advance(19);
    expect(timeouts()).not.toContain(stalledMs);
    clock.advance(1);
    expect(timeouts().map((timeoutMs) => timeoutMs === stalledMs)).toEqual([true, true, false]);

    server.socketOf(stalled)?.emit("timeout");
    await vi.waitFor(
      () => expect(readers.map((reader) => server.socketOf(reader) !== null)).toEqual([false, true, true]),
      WAIT,
    );
    let taken = 0;
    while (taken <= bytes) {
      const piece = slow.read() as Buffer | null;
      if (piece === null) await once(slow, "readable");
      else taken += piece.length;
      clock.advance(20);
    }
    expect(taken).toBeGreaterThan(bytes);
    for (const socket of [slow, idle]) expect(server.socketOf(socket)).not.toBeNull();
    for (const socket of readers) socket.destroy();
  });

  test("beyond the bound is closed as it comes, and the others go on", async () => {
    await using server = await startHttp({ connectionsMax: 2 });
    const held = await Promise.all([1, 2].map(() => open(server.port)));
    expect(await trickle(server.port, "", "")).toBe("");
    held[0]?.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    const [answer] = (await once(held[0] as Socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
    for (const socket of held) socket.destroy();
  });
});

async function open(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

const PATH = "/test.Service/Call";

/** A gRPC server of one method that echoes, on a clock that the test steps. */
async function startGrpc(bounds: Partial<Bounds> = {}) {
  const clock = fakeClock();
  const callersByPath = new Map([[PATH, "client"] as const]);
  const drop = (peer: Peer): void => listener.drop(peer);
  const admission = createAdmission({ gate: openGate, callersByPath, requestWithinMs: 30_000, drop, clock });
  const server = new Server({ interceptors: [admission] });
  const same = (bytes: Buffer): Buffer => bytes;
  const method = {
    path: PATH,
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    responseSerialize: same,
  };
  server.addService(
    { call: { ...method, requestDeserialize: same, responseDeserialize: same } },
    { call: (call: { request: Buffer }, done: (error: null, answer: Buffer) => void) => done(null, call.request) },
  );
  const listener = createGrpcListener(server, { tls: null, bounds: { ...usualBounds, ...bounds } });
  const { port } = await listener.listen({ host: "127.0.0.1", port: 0 });
  return {
    port,
    clock,
    [Symbol.dispose]() {
      listener.close();
      listener.cut();
    },
  };
}

function beginCall(port: number) {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  session.on("error", () => undefined);
  const headers = { ":method": "POST", ":path": PATH, "content-type": "application/grpc", te: "trailers" };
  const request = session.request(headers);
  request.on("error", () => undefined).resume();
  const ended = new Promise<number | null>((resolve) => {
    let code: number | null = null;
    const note = (fields: Record<string, unknown>): void => {
      if (fields["grpc-status"] !== undefined) code = Number(fields["grpc-status"]);
    };
    request.on("response", note).on("trailers", note);
    request.on("close", () => resolve(code));
  });
  return { session, request, ended };
}

describe("a gRPC call", () => {
  test("whose message does not arrive in time is dropped with its connection", async () => {
    using server = await startGrpc();
    const { session, request, ended } = beginCall(server.port);
    request.write(Buffer.from([0, 0, 0, 0, 9, 1, 2]));
    while (server.clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
    server.clock.advance(30_000);
    expect(await ended).toBeNull();
    expect(session.destroyed || session.closed).toBe(true);
    session.destroy();
  });

  test("whose message has arrived is not", async () => {
    using server = await startGrpc();
    const { session, request, ended } = beginCall(server.port);
    request.end(Buffer.from([0, 0, 0, 0, 1, 7]));
    expect(await ended).toBe(0);
    expect(server.clock.pending).toBe(0);
    session.destroy();
  });

  test("on a connection beyond the bound finds it closed", async () => {
    using server = await startGrpc({ connectionsMax: 1 });
    const held = await open(server.port);
    const refused = connect(server.port, "127.0.0.1");
    refused.on("error", () => undefined).resume();
    await once(refused, "close");
    held.destroy();
  });
});
