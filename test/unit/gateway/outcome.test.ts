import { describe, expect, test } from "vitest";
import { isByProxy, type LostWhy, verdictOn } from "../../../src/actors/gateway/outcome.ts";

const REFUSED = { kind: "definite", reason: "refused", triedElsewhere: true };
const FAILED = { kind: "definite", reason: "failed", triedElsewhere: false };
const CLIENT_ERROR = { kind: "definite", reason: "client_error", triedElsewhere: false };
const ambiguous = (reason: string, clientStatus: number | null) => ({ kind: "ambiguous", reason, clientStatus });

test.each([
  [200, { kind: "created" }],
  [201, { kind: "created" }],
  [202, { kind: "created" }],
  [204, { kind: "created" }],
  [302, CLIENT_ERROR],
  [400, CLIENT_ERROR],
  [401, CLIENT_ERROR],
  [404, CLIENT_ERROR],
  [408, ambiguous("status_408", 504)],
  [409, CLIENT_ERROR],
  [413, CLIENT_ERROR],
  [429, REFUSED],
  [499, ambiguous("status_499", 502)],
  [500, FAILED],
  [501, FAILED],
  [502, ambiguous("status_502", 502)],
  [503, REFUSED],
  [504, ambiguous("status_504", 504)],
  [507, FAILED],
])("an answer %i", (status, verdict) => {
  expect(verdictOn({ kind: "answered", status, byProxy: false })).toEqual(verdict);
});

test("a proxy's 503 is no refusal; its 500 and 429 are what they are", () => {
  const byProxy = (status: number) => verdictOn({ kind: "answered", status, byProxy: true });
  expect(byProxy(503)).toEqual(ambiguous("status_503_of_a_proxy", 502));
  expect([byProxy(500), byProxy(429)]).toEqual([FAILED, REFUSED]);
});

test("nothing sent is a refusal", () => expect(verdictOn({ kind: "unsent" })).toEqual(REFUSED));

test.each<[LostWhy, number | null]>([
  ["timeout", 504],
  ["reset", 502],
  ["client_gone", null],
  ["shutdown", 503],
])("an answer lost by %s is ambiguous", (why, status) => {
  expect(verdictOn({ kind: "lost", why })).toEqual(ambiguous(why, status));
});

describe("whether a proxy wrote an answer", () => {
  test.each([
    [{}, false],
    [{ via: "1.1 vegur" }, true],
    [{ via: ["1.1 a", "1.1 b"], server: "uvicorn" }, true],
    [{ server: "nginx/1.27.0" }, true],
    [{ server: "Envoy" }, true],
    [{ server: ["hyper", "HAProxy 2.8"] }, true],
    [{ server: "uvicorn" }, false],
    [{ server: "agentenv/1.4" }, false],
  ])("%j: %s", (headers, expected) => expect(isByProxy(headers)).toBe(expected));
});
