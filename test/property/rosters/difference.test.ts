import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Assignments, type AssignmentsOutcome } from "../../../src/actors/directory/assignments.ts";
import {
  listedStreak,
  listingOf,
  newRuntimeEpoch,
  noteRoster,
  noteSnapshot,
  openEpoch,
} from "../../../src/actors/placement/nodes/runtime-epoch.ts";
import type { SnapshotReport } from "../../../src/messages/nodes.ts";
import { differenceOf } from "../../../src/messages/rosters.ts";

/** Few ids, so that rosters agree, differ in places, and fight over sandboxes. */
const IDS = Array.from({ length: 8 }, (_, index) => `s${index}`);
const roster = fc.uniqueArray(fc.constantFrom(...IDS), { maxLength: 8 });
const RUNS = { seed: 27_183, numRuns: 2_000 };

/** The same roster in a form that is never compared with the one before: something is listed twice. */
function inFull(sandboxIds: readonly string[]): readonly string[] {
  return [...sandboxIds, ...sandboxIds.slice(0, 1)];
}

describe("the difference of two rosters", () => {
  test("names what came and what left, and makes the later one of the earlier one's texts", () => {
    fc.assert(
      fc.property(roster, fc.array(fc.constantFrom(...IDS), { maxLength: 10 }), (before, now) => {
        const difference = differenceOf(before, now);
        if (difference === null) {
          expect(now).toEqual(before);
          return;
        }
        expect(difference.sandboxIds).toEqual(now);
        expect(new Set(difference.left)).toEqual(new Set(before.filter((id) => !now.includes(id))));
        for (const id of now.filter((each) => !before.includes(each))) expect(difference.came).toContain(id);
      }),
      RUNS,
    );
  });

  test("costs nothing but a look when nothing changed, and one entry when one sandbox ended", () => {
    expect(differenceOf(["a", "b", "c"], ["a", "b", "c"])).toBeNull();
    expect(differenceOf(["a", "b", "c"], ["a", "c"])).toMatchObject({ came: [], left: ["b"] });
    expect(differenceOf(["a", "b"], ["a", "b", "c"])).toMatchObject({ came: ["c"], left: [] });
    expect(differenceOf([], [])).toBeNull();
  });
});

/** In an order that does not depend on the rosters': what happens to one sandbox stays in its order. */
function byId(outcome: AssignmentsOutcome): AssignmentsOutcome {
  const changes = [...outcome.changes].sort((left, right) => left.sandboxId.localeCompare(right.sandboxId));
  return { changes, duplicates: [...outcome.duplicates].sort() };
}

const NODES = ["n1", "n2"] as const;
const node = fc.constantFrom(...NODES);
const id = fc.constantFrom(...IDS);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant("roster" as const), node, sandboxIds: roster }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("again" as const), node }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("assigned" as const), node, id }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("deleted" as const), id }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("gone" as const), node }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("restart" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("passed" as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
  },
);

describe("rosters that are taken as differences", () => {
  test("leave the same assignments as rosters that are looked at as a whole", () => {
    const config = { bindingTtlMs: 30_000, reportTtlMs: 15_000 };
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let [different, whole] = [new Assignments(config), new Assignments(config)];
        const newest = new Map<string, readonly string[]>();
        let nowMs = 0;
        const both = (run: (assignments: Assignments, sent: typeof inFull) => AssignmentsOutcome): void => {
          expect(byId(run(different, (sandboxIds) => [...sandboxIds]))).toEqual(byId(run(whole, inFull)));
        };
        for (const each of steps) {
          switch (each.type) {
            case "roster":
              newest.set(each.node, each.sandboxIds);
              both((assignments, sent) => assignments.onRoster(each.node, sent(each.sandboxIds), nowMs));
              break;
            case "again":
              both((assignments, sent) => assignments.onRoster(each.node, sent(newest.get(each.node) ?? []), nowMs));
              break;
            case "assigned":
              both((assignments) =>
                assignments.onAssigned({ sandboxId: each.id, nodeId: each.node, source: "confirm" }, nowMs),
              );
              break;
            case "deleted":
              both((assignments) => assignments.onDeleted(each.id));
              break;
            case "gone":
              both((assignments) => assignments.onNodeGone(each.node, nowMs));
              break;
            case "restart": {
              const snapshots = [different.snapshot(), whole.snapshot()] as const;
              [different, whole] = [new Assignments(config), new Assignments(config)];
              different.replay(snapshots[0], nowMs);
              whole.replay(snapshots[1], nowMs);
              break;
            }
            case "passed":
              nowMs += each.ms;
              both((assignments) => assignments.onTick(nowMs));
              break;
          }
          for (const sandboxId of IDS) expect(different.lookup(sandboxId, nowMs)).toBe(whole.lookup(sandboxId, nowMs));
        }
      }),
      RUNS,
    );
  });

  test("leave the same streaks, first positions and departures in an epoch", () => {
    const move = fc.oneof(
      { weight: 5, arbitrary: roster },
      { weight: 3, arbitrary: fc.constant("again" as const) },
      { weight: 1, arbitrary: fc.constant("epoch" as const) },
    );
    fc.assert(
      fc.property(fc.array(move, { maxLength: 30 }), (moves) => {
        const [different, whole] = [newRuntimeEpoch(), newRuntimeEpoch()];
        let newest: readonly string[] = [];
        for (const [position, each] of moves.entries()) {
          if (each === "epoch") {
            for (const epoch of [different, whole]) {
              openEpoch(epoch);
              noteSnapshot(epoch, SNAPSHOT);
            }
          } else {
            if (each !== "again") newest = each;
            const kept = noteRoster(different, { sandboxIds: [...newest], position, increase: null });
            noteRoster(whole, { sandboxIds: inFull(newest), position, increase: null });
            expect(kept).toEqual(newest);
          }
          for (const sandboxId of IDS) {
            expect(listedStreak(different, sandboxId)).toBe(listedStreak(whole, sandboxId));
            const [left, right] = [listingOf(different, sandboxId), listingOf(whole, sandboxId)];
            expect(left?.firstPosition).toBe(right?.firstPosition);
          }
        }
      }),
      RUNS,
    );
  });
});

const SNAPSHOT: SnapshotReport = {
  status: "READY",
  allocatedCpuMillicores: 0,
  allocatedMemoryBytes: 0,
  cpuPercent: 0,
  cpuCapacityMillicores: 0,
  memoryUsedBytes: 0,
  memoryCapacityBytes: 0,
  sandboxCount: 0,
  sandboxStartingCount: 0,
  createSuccesses: 0,
  createFails: 0,
  reportedAtUnixMs: null,
  pausedSandboxCount: 0,
  pausedAllocatedCpuMillicores: 0,
  pausedAllocatedMemoryBytes: 0,
  disks: [],
};
