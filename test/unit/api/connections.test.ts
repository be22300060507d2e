import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningApi, startApi } from "./running-api.ts";

let api: RunningApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

/** Sends bytes as they are and gives back all that comes until the server ends the connection. */
async function exchange(text: string): Promise<string> {
  const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
  let received = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    received += chunk;
  });
  socket.write(text);
  await once(socket, "close");
  return received;
}

test.each([
  ["no HTTP", "hello\r\n\r\n", 400, "invalid_argument"],
  [
    "two lengths",
    "POST /v1/schedule HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    400,
    "invalid_argument",
  ],
  [
    "a head beyond 16 KiB",
    `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
    431,
    "payload_too_large",
  ],
])("%s is answered in the form of every error, and the connection ends", async (_, text, status, code) => {
  const received = await exchange(text);
  expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(JSON.parse(received.slice(received.indexOf("\r\n\r\n") + 4)).error.code).toBe(code);
});
