import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { entriesIn, JournalReader } from "../../../src/actors/journal/reader.ts";
import { MIGRATIONS } from "../../../src/actors/journal/schema.ts";
import { JournalStore } from "../../../src/actors/journal/store.ts";

/** Two later versions, as they would be written. */
const ADD_NOTE = "CREATE TABLE note (text TEXT NOT NULL) STRICT; INSERT INTO note VALUES ('from 2')";
const RENAME_NOTE = "ALTER TABLE note RENAME COLUMN text TO content; UPDATE note SET content = 'from 3'";
const newPath = (): string => join(mkdtempSync(join(tmpdir(), "ek-migration-")), "journal.sqlite");

function query(path: string, sql: string): unknown[] {
  const database = new DatabaseSync(path);
  try {
    return database
      .prepare(sql)
      .all()
      .flatMap((row) => Object.values(row));
  } finally {
    database.close();
  }
}

function journalOfToday(): string {
  const store = new JournalStore(newPath());
  store.append({ entries: 1, body: '["kept"]' });
  store.close();
  return store.path;
}

test("an older file gets every step that it lacks, once, in order, and keeps its entries", () => {
  const path = journalOfToday();
  for (const _ of [1, 2]) {
    const store = new JournalStore(path, { steps: [...MIGRATIONS, ADD_NOTE, RENAME_NOTE] });
    expect(store.size.tailEntries).toBe(1);
    store.close();
  }
  expect(query(path, "PRAGMA user_version")).toEqual([MIGRATIONS.length + 2]);
  expect(query(path, "SELECT content FROM note")).toEqual(["from 3"]);
  expect(query(path, "SELECT body FROM batches")).toEqual(['["kept"]']);
});

test("a step that fails in its middle leaves the file as it was; those before it stay done", () => {
  const path = journalOfToday();
  const broken = `${RENAME_NOTE}; INSERT INTO nowhere VALUES (1)`;
  expect(() => new JournalStore(path, { steps: [...MIGRATIONS, ADD_NOTE, broken] })).toThrow(/no such table: nowhere/);
  expect(query(path, "PRAGMA user_version")).toEqual([MIGRATIONS.length + 1]);
  expect(query(path, "SELECT text FROM note")).toEqual(["from 2"]);
  new JournalStore(path, { steps: [...MIGRATIONS, ADD_NOTE, RENAME_NOTE] }).close();
  expect(query(path, "SELECT content FROM note")).toEqual(["from 3"]);
});

test("a file whose first step failed is empty, and becomes a journal the next time", () => {
  const path = newPath();
  expect(() => new JournalStore(path, { steps: [`${MIGRATIONS[0]}; INSERT INTO nowhere VALUES (1)`] })).toThrow();
  expect(query(path, "SELECT count(*) FROM sqlite_schema")).toEqual([0]);
  new JournalStore(path).close();
  expect([...entriesIn(new JournalReader(path))]).toEqual([]);
});

test("once a file is migrated, a program that knows less refuses it", () => {
  const path = journalOfToday();
  new JournalStore(path, { steps: [...MIGRATIONS, ADD_NOTE] }).close();
  expect(() => new JournalStore(path)).toThrow(/written by a newer evenkeel \(schema 2, this one knows 1\)/);
  expect(() => new JournalReader(path)).toThrow(/written by a newer evenkeel/);
});
