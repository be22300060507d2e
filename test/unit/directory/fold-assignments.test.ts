import { expect, test } from "vitest";
import {
  type AssignmentChange,
  Assignments,
  type AssignmentsOutcome,
} from "../../../src/actors/directory/assignments.ts";
import {
  type AssignmentEntry,
  foldAssignments,
  unsaidChanges,
} from "../../../src/actors/directory/fold-assignments.ts";
import type { RouteChange } from "../../../src/actors/placement/client.ts";
import { seededRandom } from "../../../src/ports/random.ts";

const CONFIG = { bindingTtlMs: 30_000, reportTtlMs: 30_000 };

/** A directory beside its log, as the actors keep them. */
class LoggedDirectory {
  readonly assignments = new Assignments(CONFIG);
  readonly log: AssignmentEntry[] = [];
  nowMs = 0;

  hear(route: RouteChange): void {
    if (route.type !== "roster") this.log.push({ route });
    for (const assignment of unsaidChanges(route, this.#follow(route).changes)) this.log.push({ assignment });
  }

  pass(durationMs: number): void {
    this.nowMs += durationMs;
    for (const assignment of this.assignments.onTick(this.nowMs).changes) this.log.push({ assignment });
  }

  #follow(route: RouteChange): AssignmentsOutcome {
    switch (route.type) {
      case "assigned":
        return this.assignments.onAssigned(route, this.nowMs);
      case "roster":
        return this.assignments.onRoster(route.nodeId, route.sandboxIds, this.nowMs);
      case "deleted":
        return this.assignments.onDeleted(route.sandboxId);
      case "node_gone":
        return this.assignments.onNodeGone(route.nodeId, this.nowMs);
      default:
        return route satisfies never;
    }
  }
}

/** Where each sandbox is, and whether a roster has shown it there. */
function shownOf(changes: readonly AssignmentChange[]): string[] {
  return changes
    .map((change) =>
      change.type === "assigned"
        ? `${change.sandboxId} on ${change.nodeId}${change.source === "roster" ? ", shown" : ""}`
        : change.type,
    )
    .sort();
}

const assigned = (sandboxId: string, nodeId: string): RouteChange => ({
  type: "assigned",
  sandboxId,
  nodeId,
  source: "confirm",
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])("the log of a random life folds to what the directory has (seed %i)", (seed) => {
  const random = seededRandom(seed);
  const any = <Item>(items: readonly [Item, ...Item[]]): Item =>
    items[Math.floor(random.fraction() * items.length)] ?? items[0];
  const sandboxes = ["a", "b", "c", "d", "e", "f"] as const;
  const nodes = ["n1", "n2", "n3"] as const;
  const directory = new LoggedDirectory();
  for (let step = 0; step < 2_000; step++) {
    const act = any([
      () => directory.hear(assigned(any(sandboxes), any(nodes))),
      () => directory.hear({ type: "roster", nodeId: any(nodes), sandboxIds: sandboxes.filter(() => any([0, 1]) > 0) }),
      () => directory.hear({ type: "deleted", sandboxId: any(sandboxes) }),
      () => directory.hear({ type: "node_gone", nodeId: any(nodes) }),
      () => directory.pass(any([1, 5_000, 20_000, 31_000])),
    ]);
    act();
    const folded = foldAssignments(directory.log);
    expect(shownOf(folded), `step ${step}`).toEqual(shownOf(directory.assignments.snapshot()));
    if (step % 100 !== 0) continue;
    // A snapshot in place of the log changes nothing, now and later.
    directory.log.splice(0, Number.POSITIVE_INFINITY, ...folded.map((assignment) => ({ assignment })));
  }
});

test("a refresh leaves nothing in the log, a first sighting and a drop one entry each", () => {
  const directory = new LoggedDirectory();
  directory.hear(assigned("a", "n1"));
  const roster = { type: "roster", nodeId: "n1", sandboxIds: ["a"] } as const;
  for (let count = 0; count < 5; count++) directory.hear(roster);
  expect(directory.log.slice(1)).toEqual([
    { assignment: { type: "assigned", sandboxId: "a", nodeId: "n1", source: "roster" } },
  ]);
  directory.hear({ ...roster, sandboxIds: [] });
  expect(directory.log.slice(2)).toEqual([{ assignment: { type: "assignment_dropped", sandboxId: "a" } }]);
});

test("what is replayed lives a whole binding_ttl, and is dropped by the first roster that lacks what one had shown", () => {
  const before = new LoggedDirectory();
  before.hear(assigned("shown", "n1"));
  before.hear({ type: "roster", nodeId: "n1", sandboxIds: ["shown"] });
  before.hear(assigned("told", "n1"));
  const after = new Assignments(CONFIG);
  after.replay(foldAssignments(before.log), 5_000);
  expect([after.lookup("shown", 34_999), after.lookup("told", 34_999)]).toEqual(["n1", "n1"]);
  after.onRoster("n1", [], 10_000);
  expect([after.lookup("shown", 10_000), after.lookup("told", 10_000)]).toEqual([null, "n1"]);
  expect(after.lookup("told", 35_000)).toBeNull();
});
