import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { pooledFetch } from "../../../src/client/pooled-fetch.ts";
import { callApi } from "../../../src/client/transport.ts";
import { systemClock } from "../../../src/ports/clock.ts";

const closings: (() => void)[] = [];
afterEach(() => {
  for (const close of closings.splice(0)) close();
});

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  closings.push(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const call = (url: string, signal?: AbortSignal): Promise<unknown> => {
  const options = { url, clock: systemClock, token: () => "ek_1", fetch: pooledFetch(null) };
  return callApi(options, { method: "POST", path: "/v1/schedule", body: { a: "ä" }, withinMs: 5_000, signal });
};

test("sends method, path, token and body, and hands back what was answered", async () => {
  const seen: unknown[] = [];
  const url = await serve((request, response) => {
    const { method, headers } = request;
    request.setEncoding("utf8").on("data", (body: string) => {
      seen.push([method, request.url, headers.authorization, headers["content-type"], body]);
      response.end('{"ok":1}');
    });
  });
  expect(await call(url)).toEqual({ ok: 1 });
  expect(seen).toEqual([["POST", "/v1/schedule", "Bearer ek_1", "application/json", '{"a":"ä"}']]);
});

test("an error of the API carries its status and how long to wait", async () => {
  const url = await serve((_, response) => {
    response.writeHead(429, { "retry-after": "3" });
    response.end('{"error":{"code":"overloaded","message":"full","details":{}}}');
  });
  await expect(call(url)).rejects.toMatchObject({ code: "overloaded", status: 429, retryAfterMs: 3_000 });
});

test("a redirect is not followed: the token goes to nobody else", async () => {
  let calls = 0;
  const url = await serve((_, response) => {
    calls += 1;
    response.writeHead(307, { location: "/v1/elsewhere" }).end();
  });
  await expect(call(url)).rejects.toMatchObject({ code: "unexpected_answer", status: 307 });
  expect(calls).toBe(1);
});

test("says what broke where nothing listens", async () => {
  await expect(call("http://127.0.0.1:9")).rejects.toMatchObject({
    code: "unreachable",
    message: "the scheduler at http://127.0.0.1:9 cannot be reached: connect ECONNREFUSED 127.0.0.1:9",
  });
});

test("ends when its caller leaves", async () => {
  const leaving = new AbortController();
  const url = await serve(() => leaving.abort("gone"));
  await expect(call(url, leaving.signal)).rejects.toMatchObject({ code: "aborted" });
});
