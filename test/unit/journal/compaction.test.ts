import { copyFileSync, mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { compact } from "../../../src/actors/journal/compaction.ts";
import { entriesIn, JournalReader } from "../../../src/actors/journal/reader.ts";
import { JournalStore } from "../../../src/actors/journal/store.ts";
import { defaultPlacementConfig } from "../../../src/actors/placement/config.ts";
import type { PlacementEvent } from "../../../src/actors/placement/events.ts";
import { snapshotOf } from "../../../src/actors/placement/journal-snapshot.ts";
import { createPlacement } from "../../../src/actors/placement/state.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { heartbeatOf, scheduleOf } from "../placement/running-placement.ts";

const newPath = (): string => join(mkdtempSync(join(tmpdir(), "ek-compaction-")), "journal.sqlite");

type Entry = readonly [key: number, value: number | null];

/** A state that entries set and unset, key by key. */
function stateOf(entries: Iterable<unknown>): Map<number, number> {
  const state = new Map<number, number>();
  for (const [key, value] of entries as Iterable<Entry>) {
    if (value === null) state.delete(key);
    else state.set(key, value);
  }
  return state;
}

const snapshotOfState = (entries: Iterable<unknown>): Entry[] => [...stateOf(entries)];

/** A journal of many small batches, made in one transaction, and what it must leave. */
const LENGTH = 1_500;
const entryAt = (count: number): Entry => (count % 3 === 2 ? [count - 2, null] : [count, count]);
const LIVED = (() => {
  const { path } = closed(new JournalStore(newPath()));
  const database = new DatabaseSync(path);
  database.exec("BEGIN");
  const insert = database.prepare("INSERT INTO batches VALUES (?, 1, ?, ?)");
  for (let count = 0; count < LENGTH; count++) {
    const body = JSON.stringify([entryAt(count)]);
    insert.run(count + 1, crc32(body), body);
  }
  database.exec("COMMIT");
  database.close();
  return path;
})();

function closed(store: JournalStore): JournalStore {
  store.close();
  return store;
}

class Life {
  readonly store: JournalStore;
  readonly state = stateOf(Array.from({ length: LENGTH }, (_, count) => entryAt(count)));
  #count = LENGTH;

  constructor() {
    const path = newPath();
    copyFileSync(LIVED, path);
    this.store = new JournalStore(path);
  }

  append(): void {
    const [key, value] = entryAt(this.#count++);
    this.store.append({ entries: 1, body: JSON.stringify([[key, value]]) });
    if (value === null) this.state.delete(key);
    else this.state.set(key, value);
  }
}

/** Runs a compaction on a connection of its own, as far as it is let. Returns the steps that it made. */
function compactUntil(path: string, stepsMax: number, between: () => void = () => undefined): string[] {
  const store = new JournalStore(path);
  const made: string[] = [];
  for (const step of compact(store, snapshotOfState)) {
    made.push(step);
    between();
    if (made.length >= stepsMax) break;
  }
  store.close();
  return made;
}

describe("a compaction", () => {
  test("leaves what lives, drops the history and gives its room back, while appends go on between its steps", () => {
    const life = new Life();
    life.store.checkpoint();
    const before = statSync(life.store.path).size;
    const made = compactUntil(life.store.path, Number.POSITIVE_INFINITY, () => life.append());
    expect(new Set(made)).toEqual(new Set(["wrote a chunk", "adopted the snapshot", "dropped history"]));
    expect(stateOf(entriesIn(new JournalReader(life.store.path)))).toEqual(life.state);
    life.store.recount();
    expect(life.store.size.tailEntries).toBe(made.length);
    expect(life.store.size.snapshotEntries).toBe(LENGTH / 3);
    life.store.checkpoint();
    expect(statSync(life.store.path).size).toBeLessThan(before);
    life.store.close();
  });

  test("killed after any of its steps has lost nothing, and the next one ends it", () => {
    const steps = compactUntil(new Life().store.path, Number.POSITIVE_INFINITY).length;
    expect(steps).toBeGreaterThan(8);
    for (let killedAfter = 1; killedAfter <= steps; killedAfter++) {
      const life = new Life();
      compactUntil(life.store.path, killedAfter);
      life.append();
      const { path } = life.store;
      expect(stateOf(entriesIn(new JournalReader(path))), `after step ${killedAfter}`).toEqual(life.state);
      compactUntil(path, Number.POSITIVE_INFINITY);
      expect(stateOf(entriesIn(new JournalReader(path))), `after step ${killedAfter} and anew`).toEqual(life.state);
      life.store.close();
    }
  });

  test("whose snapshot cannot be made leaves the journal as it was", () => {
    const life = new Life();
    const failing = compact(new JournalStore(life.store.path), () => {
      throw new Error("no such reservation");
    });
    expect(() => [...failing]).toThrow("no such reservation");
    expect(stateOf(entriesIn(new JournalReader(life.store.path)))).toEqual(life.state);
    life.store.close();
  });
});

test("200 000 short-lived reservations leave a file that is in proportion to the 2 000 remembered", () => {
  const store = new JournalStore(newPath());
  const compacting = new JournalStore(store.path);
  const config = { ...defaultPlacementConfig, rememberedMax: 2_000 };
  const now = { nowMs: 0, wallMs: 1_700_000_000_000 };
  const placement = createPlacement(config, { random: seededRandom(1) }, now);
  let batch: PlacementEvent[] = [];
  let appendedBytes = 0;
  let largestBytes = 0;
  let compactions = 0;
  const commit = (): void => {
    const body = JSON.stringify(batch);
    store.append({ entries: batch.length, body });
    appendedBytes += body.length;
    batch = [];
    largestBytes = Math.max(largestBytes, statSync(store.path).size);
    const { tailEntries, snapshotEntries } = store.size;
    if (tailEntries < Math.max(20_000, 2 * snapshotEntries)) return;
    for (const _ of compact(compacting, snapshotOf));
    store.recount();
    compactions += 1;
  };
  for (let count = 0; count < 200_000; count++) {
    if (count % 10_000 === 0) batch.push(...placement.handle(heartbeatOf("n1"), now).events);
    now.nowMs += 1;
    now.wallMs += 1;
    const { reply, events } = placement.handle(scheduleOf(), now);
    const handle = reply.ok ? (reply.answer.reservation?.token ?? "") : "";
    batch.push(...events, ...placement.handle({ type: "cancel", handle, reason: null }, now).events);
    if (batch.length >= 1_000) commit();
  }
  commit();
  expect(compactions).toBeGreaterThanOrEqual(15);
  expect(appendedBytes).toBeGreaterThan(90e6);
  expect(largestBytes).toBeLessThan(30e6);
  const rebuilt = createPlacement(config, { random: seededRandom(2) }, now);
  rebuilt.fold(entriesIn(new JournalReader(store.path)) as Iterable<PlacementEvent>, now);
  expect(rebuilt.snapshot(now)).toEqual(placement.snapshot(now));
  store.close();
  compacting.close();
}, 120_000);
