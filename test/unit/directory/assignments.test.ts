import { beforeEach, describe, expect, test } from "vitest";
import { type AssignmentChange, Assignments } from "../../../src/actors/directory/assignments.ts";

const config = { bindingTtlMs: 30_000, reportTtlMs: 30_000 };

describe("5.5 assignments", () => {
  let assignments: Assignments;
  let changes: AssignmentChange[];
  const keep = (outcome: { readonly changes: readonly AssignmentChange[] }) => changes.push(...outcome.changes);
  const set = (nodeId: string, nowMs: number, source: "confirm" | "create" | "record" = "confirm") =>
    keep(assignments.onAssigned({ sandboxId: "s", nodeId, source }, nowMs));
  const roster = (nodeId: string, sandboxIds: readonly string[], nowMs: number) =>
    keep(assignments.onRoster(nodeId, sandboxIds, nowMs));

  beforeEach(() => {
    assignments = new Assignments(config);
    changes = [];
  });

  test("each source sets one, and it lives bindingTtl from the last of them", () => {
    for (const source of ["confirm", "create", "record"] as const) {
      assignments = new Assignments(config);
      set("a", 0, source);
      set("a", 20_000, source);
      expect(assignments.lookup("s", 49_999)).toBe("a");
      expect(assignments.lookup("s", 50_000)).toBeNull();
    }
    assignments = new Assignments(config);
    roster("a", ["s"], 0);
    roster("a", ["s"], 20_000);
    expect(assignments.lookup("s", 49_999)).toBe("a");
    expect(assignments.lookup("s", 50_000)).toBeNull();
    expect(assignments.lookup("unknown", 0)).toBeNull();
  });

  test("one that a roster has shown is dropped by the first later roster of that node that lacks it", () => {
    set("a", 0);
    roster("a", ["s"], 1_000);
    roster("b", [], 2_000);
    expect(assignments.lookup("s", 2_000)).toBe("a");
    roster("a", [], 3_000);
    expect(assignments.lookup("s", 3_000)).toBeNull();
    expect(assignments.size).toBe(0);
  });

  test("one not yet seen in any roster outlives rosters until its ttl", () => {
    roster("a", ["other"], 0);
    set("a", 1_000);
    roster("a", ["other"], 2_000);
    roster("a", [], 3_000);
    expect(assignments.lookup("s", 30_999)).toBe("a");
    expect(assignments.lookup("s", 31_000)).toBeNull();
  });

  test("listed by two nodes it is counted once, and stays with the first while its fresh roster lists it", () => {
    roster("a", ["s"], 0);
    expect(assignments.onRoster("b", ["s"], 1_000).duplicates).toEqual(["s"]);
    expect(assignments.onRoster("b", ["s", "t"], 2_000).duplicates).toEqual([]);
    set("b", 3_000, "record");
    expect(assignments.lookup("s", 3_000)).toBe("a");
    roster("a", [], 4_000);
    expect(assignments.lookup("s", 4_000)).toBe("b");
  });

  test("when the first falls silent, the other's next roster takes it", () => {
    roster("a", ["s"], 0);
    roster("b", ["s"], 25_000);
    roster("b", ["s"], 30_001);
    expect(assignments.lookup("s", 30_001)).toBe("b");
  });

  test("an assignment that no roster backs gives way to a roster, and to a newer record", () => {
    set("a", 0);
    roster("b", ["s"], 1_000);
    expect(assignments.lookup("s", 1_000)).toBe("b");
    assignments = new Assignments(config);
    set("a", 0);
    set("b", 1_000, "record");
    expect(assignments.lookup("s", 1_000)).toBe("b");
  });

  test("goes with the sandbox and with the node", () => {
    roster("a", ["s", "t"], 0);
    set("a", 0);
    keep(assignments.onDeleted("s"));
    expect([assignments.lookup("s", 0), assignments.lookup("t", 0)]).toEqual([null, "a"]);
    keep(assignments.onNodeGone("a", 1));
    expect(assignments.size).toBe(0);
    keep(assignments.onDeleted("never"));
  });

  test("journaled are first sighting, record and drop, not refreshes", () => {
    set("a", 0, "record");
    set("a", 1, "record");
    roster("a", ["s"], 2);
    roster("a", ["s"], 3);
    roster("a", ["s", "t"], 4);
    roster("a", ["t"], 5);
    expect(changes).toEqual([
      { type: "assigned", sandboxId: "s", nodeId: "a", source: "record" },
      { type: "assigned", sandboxId: "s", nodeId: "a", source: "roster" },
      { type: "assigned", sandboxId: "t", nodeId: "a", source: "roster" },
      { type: "assignment_dropped", sandboxId: "s" },
    ]);
  });

  test("ticks drop what is over, whatever set it", () => {
    set("a", 0);
    roster("b", ["t", "u"], 1_000);
    keep(assignments.onAssigned({ sandboxId: "u", nodeId: "b", source: "record" }, 20_000));
    assignments.onTick(29_999);
    expect(assignments.size).toBe(3);
    assignments.onTick(30_000);
    expect(assignments.size).toBe(2);
    assignments.onTick(31_000);
    expect(assignments.size).toBe(1);
    expect([assignments.lookup("t", 31_000), assignments.lookup("u", 31_000)]).toEqual([null, "b"]);
    assignments.onTick(50_000);
    expect(assignments.size).toBe(0);
  });

  test("a log rebuilds it: what rosters had shown is dropped by the next that lacks it, the rest outlives it", () => {
    roster("a", ["s", "t"], 0);
    keep(assignments.onAssigned({ sandboxId: "u", nodeId: "a", source: "confirm" }, 0));
    for (const log of [changes, assignments.snapshot()]) {
      const next = new Assignments(config);
      next.replay(log, 1_000);
      expect(["s", "t", "u"].map((sandboxId) => next.lookup(sandboxId, 30_999))).toEqual(["a", "a", "a"]);
      next.onRoster("a", ["s"], 2_000);
      expect(["s", "t", "u"].map((sandboxId) => next.lookup(sandboxId, 2_000))).toEqual(["a", null, "a"]);
    }
  });
});
