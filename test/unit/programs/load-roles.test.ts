import { expect, test } from "vitest";
import { parseRoles, rolesWithoutTokens } from "../../../src/programs/load-roles.ts";

test("the lines of nodes that have a name are read, and those of other callers passed over", () => {
  const text = "# all\n\n client  sha256:00\r\nnode a.1  ek_first\r\n\tnode b ek_second==\noperator ek_third";
  expect(parseRoles(text)).toEqual([
    { nodeId: "a.1", token: "ek_first" },
    { nodeId: "b", token: "ek_second==" },
  ]);
});

test.each([
  ["", 'it has no line "node NAME TOKEN"'],
  ["operator ek_1", 'it has no line "node NAME TOKEN"'],
  ["node ek_any", 'line 1: is not "node NAME TOKEN"'],
  ["node a b ek_1", 'line 1: is not "node NAME TOKEN"'],
  ["node ä ek_1", "line 1: names no valid node id"],
  ["#\nnode a sha256:00", "line 2: has no bearer token; a hash cannot be sent, it takes the token itself"],
  ["node a ek_1\nnode a ek_2", "line 2: its node has an earlier line"],
])("%j is refused, and no token quoted", (text, message) => {
  expect(parseRoles(text)).toBe(message);
});

test("where nobody asks for tokens there are 50 nodes, or as many as are wished", () => {
  expect(rolesWithoutTokens(null, "load-x")).toHaveLength(50);
  expect(rolesWithoutTokens(2, "load-x")).toEqual([
    { nodeId: "load-x-node-1", token: null },
    { nodeId: "load-x-node-2", token: null },
  ]);
});
