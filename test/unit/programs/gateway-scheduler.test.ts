import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { systemClock } from "../../../src/ports/clock.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { createHttpScheduler } from "../../../src/programs/gateway-scheduler.ts";

const BODY = JSON.stringify({ node: { node_id: "n1", endpoint: "http://10.0.0.1:8000" } });
const ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`;

/** Answers the first request of each connection, and does this with the connection at the second. */
async function startForgetful(atSecond: (socket: Socket) => void) {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    let requests = 0;
    socket.on("error", () => undefined);
    socket.on("data", () => {
      requests += 1;
      if (requests === 1) socket.write(ANSWER);
      else atSecond(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

test.each([
  ["resets it", (socket: Socket) => void socket.resetAndDestroy()],
  ["ends it", (socket: Socket) => void socket.end()],
  ["answers half", (socket: Socket) => void socket.end(ANSWER.slice(0, -10))],
])("a look-up over a kept connection is repeated when whoever holds the other end %s", async (_what, atSecond) => {
  await using scheduler = await startForgetful(atSecond);
  const { url } = scheduler;
  const credentials = { token: () => null, tls: null };
  const { lookup } = createHttpScheduler({ url, credentials, clock: systemClock, random: seededRandom(1) });
  const found = { ok: true, value: { nodeId: "n1", endpoint: "http://10.0.0.1:8000" } };
  for (let count = 1; count <= 4; count++) expect(await lookup(`s${count}`)).toEqual(found);
  expect(scheduler.connections()).toBeGreaterThan(1);
});

test("a look-up that breaks time after time is told to be unreachable", async () => {
  const server = createServer((socket) => void socket.resetAndDestroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const credentials = { token: () => null, tls: null };
  const { lookup } = createHttpScheduler({ url, credentials, clock: systemClock, random: seededRandom(1) });
  expect(await lookup("s1")).toMatchObject({ ok: false, failure: { code: "unreachable" } });
  server.close();
});
