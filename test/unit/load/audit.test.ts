import { expect, test } from "vitest";
import { audit, type Evidence, INVARIANTS_AT_END, type NodeEvidence } from "../../../src/actors/load/audit.ts";
import type { ClientRecord, Grant, GrantEnd } from "../../../src/actors/load/records.ts";

const GIB = 2 ** 30;
const ASKED_MS = 1_000_000;

/** Two nodes of 4 CPUs and 8 GiB, sandboxes of 1 CPU and 2 GiB. */
function sandboxes(count: number): { cpuMillicores: number; memoryBytes: number } {
  return { cpuMillicores: count * 1000, memoryBytes: count * 2 * GIB };
}

/** A node that reports so many sandboxes, with so many more in flight. */
function node(nodeId: string, reported: number, inFlight = 0): NodeEvidence {
  return {
    nodeId,
    capacity: sandboxes(4),
    projected: sandboxes(reported + inFlight),
    inFlight: { ...sandboxes(inFlight), count: inFlight },
  };
}

function grantOf(number: number, grant: Partial<Grant> = {}): Grant {
  return {
    token: `rt_token-${number}`,
    id: `rs_${number}`,
    nodeId: "a",
    ...sandboxes(1),
    leaseEndsAtWallMsLeast: ASKED_MS + 60_000,
    leaseEndsAtWallMsMost: ASKED_MS + 60_100,
    ...grant,
  };
}

function granted(number: number, end: GrantEnd, grant: Partial<Grant> = {}): ClientRecord {
  return { number, outcome: "granted", grant: grantOf(number, grant), repeat: null, end, why: null };
}

function evidenceWith(evidence: Partial<Evidence>): Evidence {
  return {
    records: [],
    nodes: [node("a", 0), node("b", 0)],
    live: [],
    cancelledById: new Set(),
    askedAtWallMs: ASKED_MS,
    answeredAtWallMs: ASKED_MS + 10,
    ...evidence,
  };
}

/** The names of what is violated, with the violations. */
function violationsOf(evidence: Evidence): Record<string, readonly string[]> {
  const findings = audit(INVARIANTS_AT_END, evidence);
  expect(findings).toHaveLength(6);
  return Object.fromEntries(
    findings
      .filter(({ violations }) => violations.length > 0)
      .map(({ invariant, violations }) => [invariant.name, violations]),
  );
}

const past = { leaseEndsAtWallMsLeast: ASKED_MS - 2_000, leaseEndsAtWallMsMost: ASKED_MS - 1_900 };

test("a ledger that says what the clients were told holds", () => {
  const records: ClientRecord[] = [
    granted(1, "confirmed"),
    granted(2, "confirmed", { nodeId: "b" }),
    granted(3, "cancelled"),
    granted(4, "abandoned", past),
    granted(5, "expired"),
    { number: 6, outcome: "refused", code: "no_nodes" },
  ];
  expect(violationsOf(evidenceWith({ records, nodes: [node("a", 1), node("b", 1)] }))).toEqual({});
});

test("a node charged past its capacity", () => {
  const records = [1, 2, 3, 4, 5].map((number) => granted(number, "confirmed"));
  expect(violationsOf(evidenceWith({ records, nodes: [node("a", 5)] }))).toEqual({
    within_capacity: [
      "a is charged 5 CPUs and 10240 MiB, but its capacity is 4 CPUs and 8192 MiB",
      "a was promised to clients 5 CPUs and 10240 MiB, but its capacity is 4 CPUs and 8192 MiB",
    ],
  });
});

test("a node promised past its capacity, though the scheduler shows less", () => {
  const records = [1, 2, 3, 4, 5].map((number) => granted(number, "confirmed"));
  const violations = violationsOf(evidenceWith({ records, nodes: [node("a", 4)] }));
  expect(Object.keys(violations)).toEqual(["within_capacity", "charges_complete"]);
});

test("a token, or an id, that two requests were given", () => {
  const records = [granted(1, "cancelled"), granted(2, "cancelled", { token: "rt_token-1" })];
  expect(violationsOf(evidenceWith({ records }))).toEqual({
    tokens_unique: ["requests 1 and 2 were both given rt_token…"],
  });
  const sameId = [granted(1, "cancelled"), granted(2, "cancelled", { id: "rs_1" })];
  expect(violationsOf(evidenceWith({ records: sameId }))).toEqual({
    tokens_unique: ["requests 1 and 2 were both given rs_1"],
  });
});

test("a repeat that was given another reservation than the first", () => {
  const record: ClientRecord = { ...granted(1, "cancelled"), repeat: grantOf(2) } as ClientRecord;
  expect(Object.keys(violationsOf(evidenceWith({ records: [record] })))).toEqual(["tokens_unique"]);
  const same: ClientRecord = { ...granted(1, "cancelled"), repeat: grantOf(1) } as ClientRecord;
  expect(violationsOf(evidenceWith({ records: [same] }))).toEqual({});
});

test("a live reservation that no client was given", () => {
  const violations = violationsOf(
    evidenceWith({ nodes: [node("a", 0, 1)], live: [{ id: "rs_9", nodeId: "a", state: "pending" }] }),
  );
  expect(violations.charges_explained).toEqual([
    "rs_9 on a is pending, but no client was given it",
    "a is charged 1 CPUs and 2048 MiB, but its clients hold 0 CPUs and 0 MiB",
  ]);
});

test.each([
  ["cancelled", {}, "its client was told that it is cancelled (request 1)"],
  ["expired", {}, "its client was told that it is expired (request 1)"],
  ["abandoned", past, "its lease is over (request 1)"],
] as const)("a reservation that is still charged although it was %s", (end, grant, why) => {
  const { charges_explained: violations } = violationsOf(
    evidenceWith({
      records: [granted(1, end, grant)],
      nodes: [node("a", 0, 1)],
      live: [{ id: "rs_1", nodeId: "a", state: "pending" }],
    }),
  );
  expect(violations?.[0]).toBe(`rs_1 on a is pending, but ${why}`);
});

test("an abandoned one that ended within the last second may be shown or not", () => {
  const justOver = { leaseEndsAtWallMsLeast: ASKED_MS - 900, leaseEndsAtWallMsMost: ASKED_MS - 800 };
  const records = [granted(1, "abandoned", justOver)];
  expect(violationsOf(evidenceWith({ records }))).toEqual({});
  const shown = evidenceWith({
    records,
    nodes: [node("a", 0, 1)],
    live: [{ id: "rs_1", nodeId: "a", state: "pending" }],
  });
  expect(Object.keys(violationsOf(shown))).toEqual(["in_flight_zero"]);
});

test("charges beyond what clients hold, with no live reservation to show for them", () => {
  expect(violationsOf(evidenceWith({ records: [granted(1, "confirmed")], nodes: [node("a", 2)] }))).toEqual({
    charges_explained: ["a is charged 2 CPUs and 4096 MiB, but its clients hold 1 CPUs and 2048 MiB"],
  });
});

test("a confirmed sandbox that nothing is charged for", () => {
  expect(violationsOf(evidenceWith({ records: [granted(1, "confirmed")], nodes: [node("a", 0)] }))).toEqual({
    charges_complete: ["clients hold on a 1 CPUs and 2048 MiB, but it is charged 0 CPUs and 0 MiB"],
  });
});

test("an abandoned reservation that is gone before its lease is over", () => {
  const records = [granted(1, "abandoned")];
  expect(violationsOf(evidenceWith({ records })).charges_complete).toEqual([
    "request 1 holds rs_1 on a, which is not live",
    "clients hold on a 1 CPUs and 2048 MiB, but it is charged 0 CPUs and 0 MiB",
  ]);
  expect(violationsOf(evidenceWith({ records, cancelledById: new Set(["rs_1"]) }))).toEqual({});
});

test("a charge missing on one node is not made up for by too much on another", () => {
  const records = [granted(1, "confirmed"), granted(2, "confirmed", { nodeId: "b" })];
  expect(Object.keys(violationsOf(evidenceWith({ records, nodes: [node("a", 2), node("b", 0)] })))).toEqual([
    "charges_explained",
    "charges_complete",
  ]);
});

test("a request without a clear answer", () => {
  const records: ClientRecord[] = [
    { number: 1, outcome: "unclear", why: "POST /v1/schedule: other side closed" },
    { ...granted(2, "unclear"), why: "confirm: conflict" } as ClientRecord,
  ];
  expect(violationsOf(evidenceWith({ records }))).toEqual({
    answers_clear: ["request 1: POST /v1/schedule: other side closed", "request 2, rs_2: confirm: conflict"],
  });
});

test("something still in flight at the end", () => {
  const pending = { records: [granted(1, "abandoned")], live: [{ id: "rs_1", nodeId: "a", state: "pending" }] };
  expect(violationsOf(evidenceWith({ ...pending, nodes: [node("a", 0, 1)] }))).toEqual({
    in_flight_zero: ["a has 1 in flight: 1 CPUs and 2048 MiB", "rs_1 on a is still pending"],
  });
});
