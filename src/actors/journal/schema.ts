/** The tables of the journal's file, and how a file of an older version gets them. */
import type { DatabaseSync } from "node:sqlite";
import { damageOr, JournalDamage } from "./damage.ts";

/** "EkJ1" in ASCII: tells our files from other SQLite databases. */
const APPLICATION_ID = 0x456b4a31;

/** `MIGRATIONS[n]` brings a file of version n to n + 1. Never changed once released, only added to. */
export const MIGRATIONS: readonly string[] = [
  `PRAGMA application_id = ${APPLICATION_ID};
   CREATE TABLE batches (
     seq INTEGER PRIMARY KEY, entries INTEGER NOT NULL, checksum INTEGER NOT NULL, body TEXT NOT NULL
   ) STRICT;
   CREATE TABLE chunks (
     through INTEGER NOT NULL, ordinal INTEGER NOT NULL, entries INTEGER NOT NULL, checksum INTEGER NOT NULL,
     body TEXT NOT NULL, PRIMARY KEY (through, ordinal)
   ) STRICT;
   CREATE TABLE snapshot (
     one INTEGER PRIMARY KEY CHECK (one = 1), through INTEGER NOT NULL, chunks INTEGER NOT NULL, entries INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE probe (one INTEGER PRIMARY KEY CHECK (one = 1), filler TEXT NOT NULL) STRICT;
   INSERT INTO snapshot VALUES (1, 0, 0, 0);`,
];

export const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * How long the write-ahead log grows until an append moves it into the file, which costs that append tens of
 * milliseconds. SQLite's own 1000 pages would be every hundred appends of a busy scheduler.
 */
const WAL_PAGES = 4_000;
/** What stays of it then. Without a limit it keeps the size of the largest compaction that there ever was. */
const WAL_BYTES_KEPT = WAL_PAGES * 4_096;

/** The version of a file that is ours; 0 for an empty one. Throws `JournalDamage` for one that is not, or is newer. */
export function schemaVersionOf(database: DatabaseSync, path: string, newest = SCHEMA_VERSION): number {
  let version: number;
  let application: number;
  let tables: number;
  try {
    version = numberFrom(database, "PRAGMA user_version");
    application = numberFrom(database, "PRAGMA application_id");
    tables = numberFrom(database, "SELECT count(*) FROM sqlite_schema");
  } catch (thrown) {
    throw damageOr(thrown, path);
  }
  const empty = version === 0 && application === 0 && tables === 0;
  if (!empty && application !== APPLICATION_ID) throw new JournalDamage(`${path}: a database of another program`);
  if (version > newest) {
    throw new JournalDamage(
      `${path}: written by a newer evenkeel (schema ${version}, this one knows ${newest}); run that one`,
    );
  }
  return version;
}

/** Makes the connection durable and the file up to date, step by step: a step that fails leaves the file as it was. */
export function bringUpToDate(database: DatabaseSync, path: string, steps = MIGRATIONS): void {
  const version = schemaVersionOf(database, path, steps.length);
  // Before the first table is made, or it has no effect.
  if (version === 0) database.exec("PRAGMA auto_vacuum = INCREMENTAL");
  const mode = database.prepare("PRAGMA journal_mode = WAL").get()?.journal_mode;
  if (mode !== "wal") throw new Error(`${path}: the file system takes no write-ahead log (SQLite says "${mode}")`);
  database.exec(
    `PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${WAL_PAGES}; PRAGMA journal_size_limit = ${WAL_BYTES_KEPT};`,
  );
  for (const [from, step] of steps.entries()) if (from >= version) migrate(database, step, from + 1);
}

function migrate(database: DatabaseSync, step: string, to: number): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    database.exec(`${step}; PRAGMA user_version = ${to};`);
    database.exec("COMMIT");
  } catch (thrown) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw thrown;
  }
}

function numberFrom(database: DatabaseSync, sql: string): number {
  return Number(Object.values(database.prepare(sql).get() ?? {})[0] ?? 0);
}
