import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { parseTokens, TokenGate } from "../../../src/actors/api/tokens.ts";
import { type Caller, maySetEndpoint, refuseCaller, refuseHandle, refuseNode } from "../../../src/messages/callers.ts";

const CLIENT = "client-token-0123456789";
const NODE = "node-token-0123456789";
const hash = (token: string): string => `sha256:${createHash("sha256").update(token).digest("hex")}`;

function gateOf(text: string): TokenGate {
  const parsed = parseTokens(text);
  if (!parsed.ok) throw new Error(parsed.message);
  return new TokenGate(parsed.tokens);
}

function callerOf(text: string, token: string): Caller | null {
  const admission = gateOf(text).admit(`Bearer ${token}`);
  return admission.ok ? admission.caller : null;
}

describe("a file of tokens", () => {
  test("holds tokens or their hashes, comments and blank lines", () => {
    const text = `# ours\n\nclient ${CLIENT}\n  node\tn1   ${hash(NODE)}  \r\noperator ${hash("operator-token-01")}\n`;
    expect(callerOf(text, CLIENT)).toMatchObject({ kind: "client", nodeId: null });
    expect(callerOf(text, NODE)).toMatchObject({ kind: "node", nodeId: "n1" });
    expect(callerOf(text, "operator-token-01")).toMatchObject({ kind: "operator", nodeId: null });
    expect(callerOf(text, hash(NODE))).toBeNull();
    expect(callerOf(text, `${CLIENT}x`)).toBeNull();
  });

  test.each([
    ["another kind", `admin ${CLIENT}`, "line 1: begins with none of client, node, operator"],
    ["no token", "# x\noperator", "line 2: has no token"],
    ["a node id for a client", `client n1 ${CLIENT}`, "line 1: has too many fields"],
    ["four fields", `node a b ${CLIENT}`, "line 1: has too many fields"],
    ["a short token", "client short", "line 1: has a token that is not 16 to 512 characters long"],
    ["half of a hash", "client sha256:abcd", "line 1: has a hash that is not sha256: and 64 hex digits"],
    ["other characters", "client öööööööööööööööö", "line 1: has a token with other characters"],
    ["a token twice", `client ${CLIENT}\noperator ${hash(CLIENT)}`, "line 2: the token stands in an earlier line"],
    ["nothing", "# nobody\n", "it holds no token"],
  ])("with %s is refused by its line, and the line is not quoted", (_, text, message) => {
    const parsed = parseTokens(text);
    expect(parsed).toMatchObject({ ok: false, message: expect.stringContaining(message) });
    expect(JSON.stringify(parsed)).not.toContain(CLIENT);
  });
});

describe("the gate", () => {
  const gate = gateOf(`client ${CLIENT}`);

  test.each([
    ["nothing", undefined],
    ["another scheme", `Basic ${CLIENT}`],
    ["no scheme", CLIENT],
    ["two tokens", `Bearer ${CLIENT} ${CLIENT}`],
    ["an endless token", `Bearer ${"x".repeat(600)}`],
    ["an unknown token", "Bearer 0123456789abcdef"],
  ])("does not know who presents %s", (_, authorization) => {
    expect(gate.admit(authorization)).toMatchObject({ ok: false, refusal: { code: "unauthenticated" } });
  });

  test("takes the scheme in any case (RFC 9110, 11.1)", () => {
    expect(gate.admit(`bearer  ${CLIENT} `)).toMatchObject({ ok: true });
  });

  test("forgets tokens that are taken out of force", () => {
    const exchanged = gateOf(`client ${CLIENT}`);
    const next = parseTokens(`client ${NODE}`);
    if (!next.ok) throw new Error(next.message);
    exchanged.use(next.tokens);
    expect(exchanged.admit(`Bearer ${CLIENT}`).ok).toBe(false);
    expect(exchanged.admit(`Bearer ${NODE}`).ok).toBe(true);
  });

  test("names a credential that is neither the token nor its hash, and the same for both forms", () => {
    const credential = callerOf(`client ${CLIENT}`, CLIENT)?.credential ?? "";
    expect(credential).toMatch(/^tk_[0-9a-f]{32}$/);
    expect(hash(CLIENT)).not.toContain(credential.slice(3));
    expect(callerOf(`client ${hash(CLIENT)}`, CLIENT)?.credential).toBe(credential);
    expect(callerOf(`client ${NODE}`, NODE)?.credential).not.toBe(credential);
  });
});

describe("who may do what", () => {
  const caller = (kind: Caller["kind"], nodeId: string | null = null): Caller => ({ kind, nodeId, credential: "c" });
  const CALLERS = {
    anybody: caller("anybody"),
    client: caller("client"),
    node: caller("node"),
    "node n1": caller("node", "n1"),
    operator: caller("operator"),
  };

  test.each([
    ["anyone", ["anybody", "client", "node", "node n1", "operator"]],
    ["client", ["anybody", "client", "operator"]],
    ["node", ["anybody", "node", "node n1", "operator"]],
    ["own node", ["anybody", "node n1", "operator"]],
    ["operator", ["anybody", "operator"]],
  ] as const)("calls of %s are made by %j only", (callers, allowed) => {
    for (const [name, each] of Object.entries(CALLERS)) {
      const refusal = refuseCaller(each, callers);
      expect(refusal?.code ?? "ok", name).toBe(
        (allowed as readonly string[]).includes(name) ? "ok" : "permission_denied",
      );
    }
  });

  test("a token that names a node speaks for no other", () => {
    expect(refuseNode(CALLERS["node n1"], "n1")).toBeNull();
    expect(refuseNode(CALLERS["node n1"], "n2")?.code).toBe("permission_denied");
    for (const each of [CALLERS.node, CALLERS.operator, CALLERS.anybody]) expect(refuseNode(each, "n2")).toBeNull();
  });

  test("only operators act by a reservation's id", () => {
    expect(refuseHandle(CALLERS.client, "rs_1")?.code).toBe("permission_denied");
    expect(refuseHandle(CALLERS.client, "rt_1")).toBeNull();
    expect(refuseHandle(CALLERS.operator, "rs_1")).toBeNull();
    expect(refuseHandle(CALLERS.anybody, "rs_1")).toBeNull();
  });

  test("an endpoint is set by nobody but a token that names the node, where tokens are in force", () => {
    const may = Object.entries(CALLERS).filter(([, each]) => maySetEndpoint(each, "n1"));
    expect(may.map(([name]) => name)).toEqual(["anybody", "node n1"]);
    expect(maySetEndpoint(CALLERS["node n1"], "n2")).toBe(false);
  });
});
