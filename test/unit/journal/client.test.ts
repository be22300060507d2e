import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { type Journal, spawnJournal } from "../../../src/actors/journal/client.ts";
import { JournalStore } from "../../../src/actors/journal/store.ts";
import { moduleUrl } from "../../../src/actors/kernel/module-url.ts";
import { ActorSystem } from "../../../src/actors/kernel/system.ts";
import { defaultPlacementConfig } from "../../../src/actors/placement/config.ts";
import type { PlacementEvent } from "../../../src/actors/placement/events.ts";
import { createPlacement } from "../../../src/actors/placement/state.ts";
import { type Clock, systemClock } from "../../../src/ports/clock.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { fakeClock } from "../../fakes/clock.ts";
import { recordingLog } from "../../fakes/log.ts";
import { heartbeatOf, scheduleOf } from "../placement/running-placement.ts";

const systems: ActorSystem[] = [];
afterEach(async () => {
  for (const system of systems.splice(0)) await system.stop(5_000);
});

function start({ clock = systemClock, compactableEntriesMin }: { clock?: Clock; compactableEntriesMin?: number } = {}) {
  const directory = join(mkdtempSync(join(tmpdir(), "ek-client-")), "state");
  const log = recordingLog();
  const system = new ActorSystem({ clock, random: seededRandom(1), logFor: () => log });
  systems.push(system);
  const snapshotModule = moduleUrl(import.meta.url, "../../../src/actors/placement/journal-snapshot");
  const bound = compactableEntriesMin === undefined ? {} : { compactableEntriesMin };
  const journal = spawnJournal(system, { directory, snapshotModule, log, clock, ...bound });
  return { directory, log, system, journal };
}

const append = (journal: Journal, ...entries: unknown[]): Promise<string | null> =>
  new Promise((resolve) => journal.append(entries, resolve));

function contentOf(journal: Journal): Promise<unknown[]> {
  return new Promise((resolve, reject) =>
    journal.read((content) => (content.ok ? resolve([...content.entries]) : reject(new Error(content.reason)))),
  );
}

test("appends come back in order, over as many pages as they need", async () => {
  const { journal } = start();
  expect(await journal.open()).toBeNull();
  expect(await contentOf(journal)).toEqual([]);
  const long = "x".repeat(400_000);
  for (let count = 0; count < 6; count++) expect(await append(journal, count, long)).toBeNull();
  expect(await contentOf(journal)).toEqual([0, 1, 2, 3, 4, 5].flatMap((count) => [count, long]));
});

test("a note rides along with the next append, in front of it; alone it goes after a moment", async () => {
  const clock = fakeClock();
  const { journal } = start({ clock });
  expect(await journal.open()).toBeNull();
  journal.note(["noted first"]);
  journal.note(["noted next"]);
  expect(await append(journal, "appended")).toBeNull();
  journal.note(["noted alone"]);
  clock.advance(249);
  expect(await contentOf(journal)).toEqual(["noted first", "noted next", "appended"]);
  clock.advance(1);
  expect(await contentOf(journal)).toEqual(["noted first", "noted next", "appended", "noted alone"]);
});

test("a directory is held by one journal at a time, and free when it is stopped", async () => {
  const { directory, journal, system } = start();
  expect(await journal.open()).toBeNull();
  const other = new ActorSystem({ clock: systemClock, random: seededRandom(1), logFor: () => recordingLog() });
  systems.push(other);
  const options = { directory, snapshotModule: "", log: recordingLog(), clock: systemClock };
  const second = spawnJournal(other, options);
  expect(await second.open()).toMatchObject({ kind: "held" });
  expect(await append(second, "mine")).toMatch(/held by process/);
  await system.stop(5_000);
  expect(await second.open()).toBeNull();
  expect(await append(second, "mine")).toBeNull();
});

test("history is compacted in a thread beside the appends, which go on", async () => {
  const { directory, journal, log, system } = start({ compactableEntriesMin: 2_000 });
  expect(await journal.open()).toBeNull();
  const now = { nowMs: 0, wallMs: 1_700_000_000_000 };
  const config = { ...defaultPlacementConfig, rememberedMax: 100 };
  const placement = createPlacement(config, { random: seededRandom(1) }, now);
  const isCompacted = (): boolean => log.lines.some(({ text }) => text === "the journal was compacted");
  await append(journal, ...placement.handle(heartbeatOf("n1"), now).events);
  for (let count = 0; count < 400 || !isCompacted(); count++) {
    const batch: PlacementEvent[] = [];
    for (let pair = 0; pair < 10; pair++) {
      const { reply, events } = placement.handle(scheduleOf(), now);
      const handle = reply.ok ? (reply.answer.reservation?.token ?? "") : "";
      batch.push(...events, ...placement.handle({ type: "cancel", handle, reason: null }, now).events);
    }
    expect(await append(journal, ...batch)).toBeNull();
  }
  await vi.waitFor(() => expect(system.threads).not.toContain("compaction"), { timeout: 10_000 });
  const rebuilt = createPlacement(config, { random: seededRandom(2) }, now);
  rebuilt.fold((await contentOf(journal)) as PlacementEvent[], now);
  expect(rebuilt.snapshot(now)).toEqual(placement.snapshot(now));
  await system.stop(5_000);
  const store = new JournalStore(join(directory, "journal.sqlite"));
  expect(store.size.snapshotEntries).toBeLessThan(150);
  store.close();
});

test("a snapshot that cannot be made is logged, and not tried again at once", async () => {
  const { journal, log } = start({ compactableEntriesMin: 2 });
  expect(await journal.open()).toBeNull();
  const nonsense = { position: 1, wallMs: 1, change: { type: "settled", id: "rs_nobody" } };
  for (let count = 0; count < 20; count++) expect(await append(journal, nonsense)).toBeNull();
  const failures = () => log.lines.filter(({ text }) => text.startsWith("the journal could not be compacted"));
  await vi.waitFor(() => expect(failures()).toHaveLength(1), { timeout: 20_000 });
  for (let count = 0; count < 5; count++) expect(await append(journal, nonsense)).toBeNull();
  expect(failures()).toHaveLength(1);
  expect(await contentOf(journal)).toHaveLength(25);
});
