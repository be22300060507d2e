import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test, vi } from "vitest";
import type { Conclusion, Handlers } from "../../../src/actors/api/handled.ts";
import { createHttpServer, openAccess } from "../../../src/actors/api/http-server.ts";
import { systemClock } from "../../../src/ports/clock.ts";
import { recordingLog } from "../../fakes/log.ts";

/** A server whose answers are left to the test. */
async function startServer() {
  const open: Conclusion<unknown>[] = [];
  const handle = (_input: unknown, _caller: unknown, conclusion: Conclusion<unknown>) => open.push(conclusion);
  const server = createHttpServer({
    handlers: new Proxy({} as Handlers, { get: () => handle }),
    metrics: null,
    version: "1.2.3",
    access: openAccess,
    clock: systemClock,
    log: recordingLog(),
  });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  const connections: Socket[] = [];
  server.app.server.on("connection", (connection: Socket) => connections.push(connection));
  return { open, port, connections, [Symbol.asyncDispose]: () => server.close(0) };
}

const LIVENESS = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";

test("of requests that come together on one connection, each is handled when the one before it was answered", async () => {
  await using running = await startServer();
  const socket = connect(running.port, "127.0.0.1");
  let received = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    received += text;
  });
  socket.write(LIVENESS.repeat(5));
  for (let answered = 1; answered <= 5; answered++) {
    await vi.waitFor(() => expect(running.open.length).toBe(answered));
    running.open.at(-1)?.finish({ ok: true, answer: { status: "ok" } });
    await vi.waitFor(() => expect(received.match(/HTTP\/1\.1 200/g)?.length).toBe(answered));
  }
  socket.destroy();
});

test("those that wait when their connection closes are not handled at all", async () => {
  await using running = await startServer();
  const socket = connect(running.port, "127.0.0.1");
  socket.write(LIVENESS.repeat(3));
  await vi.waitFor(() => expect(running.open.length).toBe(1));
  const [connection] = running.connections;
  if (connection === undefined) throw new Error("no connection");
  socket.destroy();
  await once(connection, "close");
  running.open[0]?.finish({ ok: true, answer: { status: "ok" } });
  // Whatever would still be handled is before this one.
  const other = connect(running.port, "127.0.0.1");
  other.write(LIVENESS);
  await vi.waitFor(() => expect(running.open.length).toBe(2));
  running.open[1]?.finish({ ok: true, answer: { status: "ok" } });
  await once(other, "data");
  expect(running.open.length).toBe(2);
  other.destroy();
});
