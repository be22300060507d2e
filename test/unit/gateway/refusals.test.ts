import { expect, test } from "vitest";
import { refusalOfFailure, unknownOutcome } from "../../../src/actors/gateway/refusals.ts";

test.each([
  ["no_nodes", 503, 503, "no_nodes"],
  ["overloaded", 429, 429, "overloaded"],
  ["unavailable", 503, 503, "unavailable"],
  ["not_found", 404, 404, "not_found"],
  ["unreachable", null, 503, "unavailable"],
  ["timeout", null, 503, "unavailable"],
  ["unexpected_answer", 502, 503, "unavailable"],
  ["unauthenticated", 401, 503, "unavailable"],
  ["permission_denied", 403, 503, "unavailable"],
  ["invalid_argument", 400, 503, "unavailable"],
  ["internal", 500, 503, "unavailable"],
])("the scheduler's %s (%s) is told as %i %s", (code, given, status, told) => {
  const failure = { code, message: "m", details: { reasons: {} }, status: given, repeatable: false };
  expect(refusalOfFailure(failure)).toMatchObject({ status, code: told });
});

test("an unknown outcome says so", () => {
  expect(unknownOutcome(504, "node-a", "timeout")).toEqual({
    status: 504,
    code: "gateway_timeout",
    message: "the node was asked to create the sandbox and nobody knows whether it did",
    details: { outcome: "unknown", node_id: "node-a", reason: "timeout" },
  });
});
