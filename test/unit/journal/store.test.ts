import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { JournalDamage } from "../../../src/actors/journal/damage.ts";
import { entriesIn, JournalReader } from "../../../src/actors/journal/reader.ts";
import { rescue } from "../../../src/actors/journal/rescue.ts";
import { SCHEMA_VERSION } from "../../../src/actors/journal/schema.ts";
import { JournalStore } from "../../../src/actors/journal/store.ts";

const newPath = (): string => join(mkdtempSync(join(tmpdir(), "ek-journal-")), "journal.sqlite");
const batch = (...entries: unknown[]) => ({ entries: entries.length, body: JSON.stringify(entries) });

function contentOf({ path }: JournalStore): unknown[] {
  return [...entriesIn(new JournalReader(path))];
}

/** Reads every row and every page. */
function verify(path: string): number {
  const reader = new JournalReader(path);
  try {
    reader.checkPages();
    return [...reader.stretches()].reduce((sum, { entries }) => sum + entries, 0);
  } finally {
    reader.close();
  }
}

function dropAll(store: JournalStore, rows: number): void {
  while (store.dropSome(rows));
}

function damageOf(run: () => unknown): string {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof JournalDamage) return thrown.message;
    throw thrown;
  }
  return "none";
}

describe("a journal", () => {
  test("gives back what was appended, in order, also after it was opened anew", () => {
    const path = newPath();
    const store = new JournalStore(path);
    store.append(batch("a", "b"));
    store.append(batch("c"));
    store.close();
    const again = new JournalStore(path);
    again.append(batch("d"));
    expect(contentOf(again)).toEqual(["a", "b", "c", "d"]);
    expect(again.size).toEqual({ snapshotEntries: 0, tailEntries: 4 });
    expect(verify(path)).toBe(4);
    again.close();
  });

  test("keeps nothing of a probe", () => {
    const store = new JournalStore(newPath());
    store.append(batch("a"));
    store.probe();
    store.probe();
    store.append(batch("b"));
    expect(contentOf(store)).toEqual(["a", "b"]);
    store.close();
  });

  test("puts a snapshot before what came after it, and drops what it stands for", () => {
    const path = newPath();
    const store = new JournalStore(path);
    for (const entry of ["a", "b", "c", "d"]) store.append(batch(entry));
    const compacting = new JournalStore(path);
    compacting.writeChunk(3, 1, batch("s1", "s2"));
    compacting.writeChunk(3, 2, batch("s3"));
    expect(contentOf(store)).toEqual(["a", "b", "c", "d"]); // not adopted: counts for nothing
    compacting.adoptSnapshot(3, { chunks: 2, entries: 3 });
    expect(contentOf(store)).toEqual(["s1", "s2", "s3", "d"]);
    dropAll(compacting, 1);
    store.recount();
    expect(store.size).toEqual({ snapshotEntries: 3, tailEntries: 1 });
    expect(contentOf(store)).toEqual(["s1", "s2", "s3", "d"]);
    store.append(batch("e"));
    store.close();
    compacting.close();
    const again = new JournalStore(path);
    expect(contentOf(again)).toEqual(["s1", "s2", "s3", "d", "e"]);
    again.close();
  });

  test("numbers on from an empty tail behind a snapshot", () => {
    const path = newPath();
    const store = new JournalStore(path);
    store.append(batch("a"));
    store.writeChunk(1, 1, batch("s"));
    store.adoptSnapshot(1, { chunks: 1, entries: 1 });
    dropAll(store, 10);
    store.close();
    const again = new JournalStore(path);
    again.append(batch("b"));
    expect(contentOf(again)).toEqual(["s", "b"]);
    again.close();
  });

  test("forgets a snapshot that was never adopted", () => {
    const store = new JournalStore(newPath());
    store.append(batch("a"));
    store.writeChunk(1, 1, batch("half"));
    dropAll(store, 10);
    store.writeChunk(1, 1, batch("whole"));
    store.adoptSnapshot(1, { chunks: 1, entries: 1 });
    expect(contentOf(store)).toEqual(["whole"]);
    store.close();
  });

  test("gives the room of what was dropped back", () => {
    const path = newPath();
    const store = new JournalStore(path);
    for (let count = 0; count < 300; count++) store.append(batch("x".repeat(10_000)));
    store.checkpoint();
    expect(statSync(path).size).toBeGreaterThan(3_000_000);
    store.writeChunk(300, 1, batch("s"));
    store.adoptSnapshot(300, { chunks: 1, entries: 1 });
    dropAll(store, 100);
    while (store.shrinkSome(50));
    store.checkpoint();
    expect(statSync(path).size).toBeLessThan(100_000);
    store.close();
  });
});

describe("a file that goes away", () => {
  test("is noticed by the append that nobody would find again, and by a probe", () => {
    for (const use of [(store: JournalStore) => store.append(batch("b")), (store: JournalStore) => store.probe()]) {
      const store = new JournalStore(newPath());
      store.append(batch("a"));
      rmSync(store.path);
      expect(() => use(store)).toThrow(/journal\.sqlite has been removed or replaced$/);
      store.close();
    }
  });

  test("is noticed when it is the write-ahead log", () => {
    const store = new JournalStore(newPath());
    store.append(batch("a"));
    rmSync(`${store.path}-wal`);
    expect(() => store.append(batch("b"))).toThrow(/has been removed or replaced$/);
    store.close();
  });

  test("is not made anew where it has to be there", () => {
    const path = newPath();
    expect(() => new JournalStore(path, { create: false })).toThrow(/journal\.sqlite has been removed$/);
    expect(existsSync(path)).toBe(false);
  });

  test("is written again with all that was ever committed", () => {
    const store = new JournalStore(newPath());
    for (const entry of ["a", "b"]) store.append(batch(entry));
    expect(rescue(store)).toBe(false);
    rmSync(store.path);
    expect(rescue(store)).toBe(true);
    store.close();
    const again = new JournalStore(store.path, { create: false });
    again.append(batch("c"));
    expect(contentOf(again)).toEqual(["a", "b", "c"]);
    again.close();
  });
});

test("a journal knows a batch that was promised from one of another journal", () => {
  const store = new JournalStore(newPath());
  const first = store.append(batch("a"));
  const second = store.append(batch("b"));
  expect([store.holds(first), store.holds(second)]).toEqual([true, true]);
  expect(store.holds({ seq: 2, checksum: first.checksum })).toBe(false);
  expect(store.holds({ ...second, seq: 3 })).toBe(false);
  store.writeChunk(2, 1, batch("s"));
  store.adoptSnapshot(2, { chunks: 1, entries: 1 });
  dropAll(store, 10);
  expect([store.holds(first), store.holds(second)]).toEqual([true, true]);
  store.close();
});

test("a reader sees the journal as it stood when it began, through appends and a compaction", () => {
  const store = new JournalStore(newPath());
  for (const entry of ["a", "b", "c"]) store.append(batch(entry));
  const entries = entriesIn(new JournalReader(store.path));
  expect(entries.next().value).toBe("a");
  store.append(batch("d"));
  store.writeChunk(4, 1, batch("s"));
  store.adoptSnapshot(4, { chunks: 1, entries: 1 });
  dropAll(store, 10);
  expect([...entries]).toEqual(["b", "c"]);
  expect(contentOf(store)).toEqual(["s"]);
  store.close();
});

test("only its owner may read it", () => {
  const store = new JournalStore(newPath());
  store.append(batch("a"));
  expect(["", "-wal"].map((ending) => statSync(store.path + ending).mode & 0o777)).toEqual([0o600, 0o600]);
  store.close();
});

describe("a file that cannot be used is refused with what is wrong and where", () => {
  const damaged = (sql: string): string => {
    const path = newPath();
    const store = new JournalStore(path);
    for (const entry of ["a", "b", "c"]) store.append(batch(entry));
    store.close();
    const database = new DatabaseSync(path);
    database.exec(sql);
    database.close();
    return path;
  };

  test.each([
    [
      "a changed body",
      `UPDATE batches SET body = '["x"]' WHERE seq = 2`,
      /: batch 2 is damaged: its checksum differs$/,
    ],
    ["a missing batch", "DELETE FROM batches WHERE seq = 2", /: batch 2 is missing$/],
    ["a missing snapshot", "UPDATE snapshot SET through = 1, chunks = 1", /: snapshot 1, chunk 1 of 1 is missing$/],
    ["no word of the snapshot", "DELETE FROM snapshot", /: the row that names the snapshot is missing$/],
  ])("%s", (_, sql, message) => {
    expect(damageOf(() => verify(damaged(sql)))).toMatch(message);
  });

  test("a newer schema", () => {
    expect(damageOf(() => new JournalStore(damaged(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)))).toMatch(
      /: written by a newer evenkeel \(schema 2, this one knows 1\); run that one$/,
    );
  });

  test.each(["PRAGMA application_id = 1", "PRAGMA application_id = 0; PRAGMA user_version = 0"])(
    "another program's database: %s",
    (sql) => {
      const path = damaged(sql);
      const before = readFileSync(path);
      expect(damageOf(() => new JournalStore(path))).toMatch(/: a database of another program$/);
      expect(readFileSync(path).equals(before)).toBe(true);
    },
  );

  test("no database at all", () => {
    const path = newPath();
    writeFileSync(path, "not a database\n".repeat(1_000));
    expect(damageOf(() => new JournalStore(path))).toMatch(/: file is not a database$/);
    expect(readFileSync(path, "utf8").startsWith("not a database")).toBe(true); // left as it was
  });

  test("a page full of noise", () => {
    const path = newPath();
    const store = new JournalStore(path);
    for (let count = 0; count < 200; count++) store.append(batch("y".repeat(2_000)));
    store.checkpoint();
    store.close();
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 40_960, 45_056);
    writeFileSync(path, bytes);
    expect(damageOf(() => verify(path))).toContain(path);
  });

  test("none, when it is only to be read", () => {
    expect(damageOf(() => new JournalReader(newPath()))).toMatch(/: there is no journal$/);
  });
});
