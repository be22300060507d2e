import { describe, expect, test } from "vitest";
import type { Promised } from "../../../src/actors/load/messages.ts";
import { brokenPromises, doubleBooked } from "../../../src/actors/load/promises.ts";
import { RESERVATION_STATES } from "../../../src/messages/placement.ts";

function promised(end: Promised["end"]): Promised {
  const lease = { leaseEndsAtWallMsLeast: 1, leaseEndsAtWallMsMost: 2 };
  const grant = { token: "rt_1", id: "rs_1", nodeId: "n1", cpuMillicores: 1, memoryBytes: 1, ...lease };
  return { type: "promised", grant, end };
}

describe("what a client was told leaves these states, and no other", () => {
  test.each<[Promised["end"], string[]]>([
    ["granted", ["pending", "confirmed", "settled", "cancelled", "expired"]],
    ["confirmed", ["confirmed", "settled"]],
    ["cancelled", ["cancelled"]],
    ["abandoned", ["pending", "expired"]],
    ["expired", ["expired"]],
  ])("%s", (end, states) => {
    const holds = RESERVATION_STATES.filter(
      (state) => brokenPromises([promised(end)], new Map([["rs_1", { nodeId: "n1", state }]])).length === 0,
    );
    expect([...holds].sort()).toEqual([...states].sort());
  });

  test("a reservation that nobody knows any more breaks every one", () => {
    expect(brokenPromises([promised("cancelled")], new Map())).toEqual([
      "rs_1 on n1 was told cancelled, and is unknown",
    ]);
  });
});

test("a node with more reservations than room is double-booked; ended ones take none", () => {
  const states = ["pending", "confirmed", "settled", "cancelled", "expired"];
  const known = states.map((state) => ({ nodeId: "n1", state }));
  expect(doubleBooked(known, { roomPerNode: 3 })).toEqual([]);
  expect(doubleBooked(known, { roomPerNode: 2 })).toEqual(["n1 has 3 reservations and room for 2"]);
});
