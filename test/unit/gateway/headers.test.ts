import { expect, test } from "vitest";
import { headersForClient, headersForNode, withoutBody } from "../../../src/actors/gateway/headers.ts";

const CLIENT = { address: "192.0.2.7", encrypted: false };

test.each([
  "connection",
  "Keep-Alive",
  "Proxy-Authenticate",
  "Proxy-Authorization",
  "Proxy-Connection",
  "TE",
  "Trailer",
  "Transfer-Encoding",
  "Upgrade",
  "Expect",
])("%s is not for the node", (name) => {
  const headers = headersForNode(["Host", "x", name, "value"], CLIENT);
  expect(Object.keys(headers)).toEqual(["host", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"]);
});

test("what Connection names goes too, in any case and over several lines, but never Host or Content-Length", () => {
  const lines = ["Connection", "X-One, host", "connection", "content-length, x-TWO", "X-One", "1", "x-two", "2"];
  const headers = headersForNode([...lines, "Host", "h", "Content-Length", "3"], CLIENT);
  expect(headers).toMatchObject({ host: "h", "content-length": "3" });
  expect("x-one" in headers || "x-two" in headers).toBe(false);
});

test("several lines of one name stay several", () => {
  const headers = headersForNode(["Host", "h", "X-A", "1", "x-a", "2", "X-A", "3"], CLIENT);
  expect(headers["x-a"]).toEqual(["1", "2", "3"]);
});

test("the chain of clients grows; what a proxy in front has seen stays", () => {
  const before = ["Host", "h", "X-Forwarded-For", "203.0.113.1", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "p"];
  expect(headersForNode(before, CLIENT)).toMatchObject({
    "x-forwarded-for": "203.0.113.1, 192.0.2.7",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "p",
  });
  expect(headersForNode(["Host", "h"], { address: null, encrypted: true })).toEqual({
    host: "h",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "h",
  });
});

test("an answer loses the same", () => {
  const headers = headersForClient({
    connection: "x-hop, keep-alive",
    "x-hop": "1",
    "keep-alive": "timeout=5",
    "transfer-encoding": "chunked",
    "set-cookie": ["a=1", "b=2"],
    "content-length": 3,
    "x-absent": undefined,
  });
  expect(headers).toEqual({ "set-cookie": ["a=1", "b=2"], "content-length": "3" });
});

test("a request of our own for the same client carries no description of its body", () => {
  const headers = { host: "h", authorization: "Bearer x", "content-type": "a/b", "content-length": "3" };
  expect(withoutBody(headers)).toEqual({ host: "h", authorization: "Bearer x" });
});
