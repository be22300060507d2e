import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { JournalDamage, JournalStore, SCHEMA_VERSION } from "../../../src/actors/journal/store.ts";

const newPath = (): string => join(mkdtempSync(join(tmpdir(), "ek-journal-")), "journal.sqlite");
const batch = (...entries: unknown[]) => ({ entries: entries.length, body: JSON.stringify(entries) });

function contentOf(store: JournalStore): unknown[] {
  const all: unknown[] = [];
  let next = store.readAfter({ chunks: 0, seq: 0 });
  for (; next !== null; next = store.readAfter(next.place)) all.push(...JSON.parse(next.stretch.body));
  return all;
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
    expect(again.verify()).toEqual({ entries: 4 });
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
    while (compacting.dropSome(1));
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
    while (store.dropSome(10));
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
    while (store.dropSome(10));
    store.writeChunk(1, 1, batch("whole"));
    store.adoptSnapshot(1, { chunks: 1, entries: 1 });
    expect(contentOf(store)).toEqual(["whole"]);
    store.close();
  });

  test("gives the room of what was dropped back", () => {
    const path = newPath();
    const store = new JournalStore(path);
    for (let count = 0; count < 300; count++) store.append(batch("x".repeat(10_000)));
    store.shrink();
    expect(statSync(path).size).toBeGreaterThan(3_000_000);
    store.writeChunk(300, 1, batch("s"));
    store.adoptSnapshot(300, { chunks: 1, entries: 1 });
    while (store.dropSome(100));
    store.shrink();
    expect(statSync(path).size).toBeLessThan(100_000);
    store.close();
  });
});

describe("a file that cannot be used is refused with what is wrong and where", () => {
  const damaged = (sql: string): JournalStore => {
    const path = newPath();
    const store = new JournalStore(path);
    for (const entry of ["a", "b", "c"]) store.append(batch(entry));
    store.close();
    const database = new DatabaseSync(path);
    database.exec(sql);
    database.close();
    return new JournalStore(path);
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
    expect(damageOf(() => damaged(sql).verify())).toMatch(message);
  });

  test("a newer schema", () => {
    expect(damageOf(() => damaged(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`))).toMatch(
      /: written by a newer evenkeel \(schema 2, this one knows 1\); run that one$/,
    );
  });

  test("another program's database", () => {
    expect(damageOf(() => damaged("PRAGMA application_id = 1"))).toMatch(/: a database of another program$/);
  });

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
    store.shrink();
    store.close();
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 40_960, 45_056);
    writeFileSync(path, bytes);
    expect(damageOf(() => new JournalStore(path).verify())).toContain(path);
  });

  test("none, when it is only to be read", () => {
    expect(damageOf(() => new JournalStore(newPath(), { readOnly: true }))).toMatch(/: there is no journal$/);
  });
});
