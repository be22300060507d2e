import { EventEmitter } from "eventemitter3";
import { expect, test } from "vitest";
import { directoryActor } from "../../../src/actors/directory/actor.ts";
import type { DirectoryEvents, DirectoryMessage, DirectoryReplies } from "../../../src/actors/directory/client.ts";
import { ActorSystem } from "../../../src/actors/kernel/system.ts";
import type { RouteChange } from "../../../src/actors/placement/client.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { fakeClock, turns } from "../../fakes/clock.ts";
import { recordingLog } from "../../fakes/log.ts";

function start() {
  const clock = fakeClock();
  const log = recordingLog();
  const system = new ActorSystem({ clock, random: seededRandom(1), logFor: () => log });
  const events = new EventEmitter<DirectoryEvents>();
  const directory = system.spawnLocal<DirectoryMessage, DirectoryReplies>(
    "directory",
    directoryActor({ journal: null, config: { bindingTtlMs: 30_000, reportTtlMs: 30_000 }, events }),
  );
  const tell = (...changes: RouteChange[]): void => void directory.tell({ type: "routes", changes });
  const lookup = async (sandboxId: string): Promise<string | null | undefined> => {
    const found = await directory.ask({ type: "lookup", sandboxId }, { deadlineMs: 1_000 });
    return found.ok ? found.value.nodeId : undefined;
  };
  return { clock, log, system, events, tell, lookup };
}

test("a look-up finds what was told before it, for binding_ttl, and no longer", async () => {
  const { clock, tell, lookup } = start();
  tell({ type: "assigned", sandboxId: "s1", nodeId: "n1", source: "confirm" });
  expect(await lookup("s1")).toBe("n1");
  expect(await lookup("s2")).toBeNull();
  clock.advance(29_999);
  expect(await lookup("s1")).toBe("n1");
  clock.advance(1);
  expect(await lookup("s1")).toBeNull();
});

test("changes are followed in their order: rosters, deletions, nodes that go", async () => {
  const { tell, lookup } = start();
  tell(
    { type: "roster", nodeId: "n1", sandboxIds: ["a", "b", "c"] },
    { type: "roster", nodeId: "n1", sandboxIds: ["a", "b"] },
    { type: "deleted", sandboxId: "a" },
    { type: "assigned", sandboxId: "d", nodeId: "n2", source: "record" },
  );
  expect(await Promise.all(["a", "b", "c", "d"].map(lookup))).toEqual([null, "n1", null, "n2"]);
  tell({ type: "node_gone", nodeId: "n1" });
  expect(await Promise.all(["b", "d"].map(lookup))).toEqual([null, "n2"]);
});

test("a sandbox that two nodes list is told and logged once", async () => {
  const { tell, events, log, lookup } = start();
  const duplicates: string[] = [];
  events.on("duplicate", ({ sandboxId }) => duplicates.push(sandboxId));
  for (let round = 0; round < 2; round++) {
    for (const nodeId of ["n1", "n2"]) tell({ type: "roster", nodeId, sandboxIds: ["s"] });
  }
  expect(await lookup("s")).toBe("n1");
  expect(duplicates).toEqual(["s"]);
  expect(log.lines.map(({ text }) => text)).toEqual(["two nodes list sandbox s: it is charged on both"]);
});

test("it stops with its timer", async () => {
  const { clock, system } = start();
  await turns();
  expect(clock.pending).toBe(1);
  await system.stop(100);
  expect(clock.pending).toBe(0);
});
