/**
 * The journal's file: one SQLite database in WAL mode with `synchronous=FULL`, so that a commit that returned survives
 * the loss of power (sqlite.org, "Write-Ahead Logging", "PRAGMA synchronous").
 *
 * ```
 *   snapshot 1…n  (all that lived at batch `through`)   +   batches through+1 … newest, without a gap
 * ```
 *
 * Entries are opaque texts here. Each row carries a checksum, so that a damaged page is told from a bad program.
 */
import { existsSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { describeThrown } from "../kernel/outcome.ts";

/** Raised when the tables change; `MIGRATIONS[n]` brings a file of version n to n + 1. */
export const SCHEMA_VERSION = 1;
/** "EkJ1" in ASCII: tells our files from other SQLite databases. */
const APPLICATION_ID = 0x456b4a31;
/** Two connections write, the journal and a compaction, each for milliseconds at a time. */
const BUSY_TIMEOUT_MS = 5_000;

const MIGRATIONS: readonly string[] = [
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

/** A full disk still takes a few bytes; this many need new pages. */
const PROBE_CHARACTERS = 16_384;

/** The file cannot be used as it is; `message` says what is wrong and where, in one line. */
export class JournalDamage extends Error {}

/** A stretch of entries as it is stored: a JSON array of `entries` elements. */
export interface Stretch {
  readonly entries: number;
  readonly body: string;
}

/** Where a reader stands: how many snapshot chunks it has read, then the last batch. */
export interface Place {
  readonly chunks: number;
  readonly seq: number;
}

export interface JournalSize {
  /** Entries in the snapshot and behind it. */
  readonly snapshotEntries: number;
  readonly tailEntries: number;
}

export class JournalStore {
  readonly path: string;
  readonly #database: DatabaseSync;
  readonly #insertBatch: StatementSync;
  #newestSeq: number;
  #tailEntries: number;

  /**
   * Opens the file, and makes or migrates it unless `readOnly`. Throws `JournalDamage` for a file that is not ours, is
   * newer than this program or cannot be read, and whatever SQLite throws when the disk fails.
   */
  constructor(path: string, { readOnly = false }: { readonly readOnly?: boolean } = {}) {
    if (readOnly && !existsSync(path)) throw new JournalDamage(`${path}: there is no journal`);
    this.path = path;
    this.#database = new DatabaseSync(path, { readOnly, timeout: BUSY_TIMEOUT_MS });
    try {
      this.#prepare(readOnly);
      this.#insertBatch = this.#database.prepare("INSERT INTO batches VALUES (?, ?, ?, ?)");
      const row = this.#one(
        "SELECT coalesce(max(seq), (SELECT through FROM snapshot)) AS seq, coalesce(sum(entries), 0) AS entries FROM batches WHERE seq > (SELECT through FROM snapshot)",
      );
      this.#newestSeq = integer(row.seq);
      this.#tailEntries = integer(row.entries);
    } catch (thrown) {
      this.#database.close();
      throw thrown;
    }
  }

  get size(): JournalSize {
    return { snapshotEntries: this.#snapshot().entries, tailEntries: this.#tailEntries };
  }

  get newestSeq(): number {
    return this.#newestSeq;
  }

  /** Commits one batch: when this returns it is durable, when it throws nothing is promised. */
  append({ entries, body }: Stretch): void {
    this.#insertBatch.run(this.#newestSeq + 1, entries, crc32(body), body);
    this.#newestSeq += 1;
    this.#tailEntries += entries;
  }

  /** Throws what an append would throw: a real commit, as large as an append usually is, and always of the same row. */
  probe(): void {
    this.#run("INSERT OR REPLACE INTO probe VALUES (1, ?)", "x".repeat(PROBE_CHARACTERS));
  }

  /** The stretch behind `place`, in order, and the next place; null at the end. Throws `JournalDamage`. */
  readAfter(place: Place, throughSeq = this.#newestSeq): { stretch: Stretch; place: Place } | null {
    const snapshot = this.#snapshot();
    if (place.chunks < snapshot.chunks) {
      const row = this.#maybe(
        "SELECT * FROM chunks WHERE through = ? AND ordinal = ?",
        snapshot.through,
        place.chunks + 1,
      );
      const where = `snapshot ${snapshot.through}, chunk ${place.chunks + 1} of ${snapshot.chunks}`;
      return { stretch: this.#verified(row, where), place: { chunks: place.chunks + 1, seq: snapshot.through } };
    }
    const seq = Math.max(place.seq, snapshot.through) + 1;
    if (seq > throughSeq) return null;
    const row = this.#maybe("SELECT * FROM batches WHERE seq = ?", seq);
    return { stretch: this.#verified(row, `batch ${seq}`), place: { chunks: place.chunks, seq } };
  }

  /** Reads every row. Throws `JournalDamage` for the first that is missing, damaged or no JSON array of its length. */
  verify(): { entries: number } {
    const verdict = this.#one("PRAGMA quick_check(1)").quick_check;
    if (verdict !== "ok") throw new JournalDamage(`${this.path}: ${String(verdict).split("\n").join(" ")}`);
    let entries = 0;
    let place: Place = { chunks: 0, seq: 0 };
    for (let next = this.readAfter(place); next !== null; next = this.readAfter(place)) {
      place = next.place;
      entries += next.stretch.entries;
    }
    return { entries };
  }

  /** Writes one chunk of a snapshot that is being made; it counts for nothing until `adoptSnapshot`. */
  writeChunk(through: number, ordinal: number, { entries, body }: Stretch): void {
    this.#run("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", through, ordinal, entries, crc32(body), body);
  }

  /** Makes the snapshot the beginning of the journal, at once. What it stands for can then be dropped. */
  adoptSnapshot(through: number, { chunks, entries }: { readonly chunks: number; readonly entries: number }): void {
    this.#run("UPDATE snapshot SET through = ?, chunks = ?, entries = ?", through, chunks, entries);
  }

  /** Drops up to `rows` rows that the snapshot stands for, or that a compaction left half-made. False: none are left. */
  dropSome(rows: number): boolean {
    const obsolete = "through <> (SELECT through FROM snapshot)";
    const chunks = this.#run(
      `DELETE FROM chunks WHERE rowid IN (SELECT rowid FROM chunks WHERE ${obsolete} LIMIT ?)`,
      rows,
    );
    const batches = this.#run(
      "DELETE FROM batches WHERE seq IN (SELECT seq FROM batches WHERE seq <= (SELECT through FROM snapshot) ORDER BY seq LIMIT ?)",
      rows,
    );
    return chunks + batches > 0;
  }

  /** Gives the room of dropped rows back to the file system. */
  shrink(): void {
    this.#database.exec("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);");
  }

  /** After another connection has made and adopted a snapshot: what lies behind it now. */
  recount(): void {
    const row = this.#one(
      "SELECT coalesce(sum(entries), 0) AS entries FROM batches WHERE seq > (SELECT through FROM snapshot)",
    );
    this.#tailEntries = integer(row.entries);
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #prepare(readOnly: boolean): void {
    let version: number;
    let application: number;
    try {
      version = integer(this.#one("PRAGMA user_version").user_version);
      application = integer(this.#one("PRAGMA application_id").application_id);
    } catch (thrown) {
      if (codeOf(thrown) === SQLITE_NOTADB || codeOf(thrown) === SQLITE_CORRUPT) {
        throw new JournalDamage(`${this.path}: ${describeThrown(thrown)}`);
      }
      throw thrown;
    }
    if (version > SCHEMA_VERSION) {
      throw new JournalDamage(
        `${this.path}: written by a newer evenkeel (schema ${version}, this one knows ${SCHEMA_VERSION}); run that one`,
      );
    }
    if (version > 0 && application !== APPLICATION_ID) {
      throw new JournalDamage(`${this.path}: a database of another program`);
    }
    if (readOnly) return;
    // Before the first table is made, or it has no effect.
    if (version === 0) this.#database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    this.#database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    for (let from = version; from < SCHEMA_VERSION; from++) this.#migrate(from);
  }

  #migrate(from: number): void {
    this.#database.exec(`BEGIN IMMEDIATE; ${MIGRATIONS[from] ?? ""} PRAGMA user_version = ${from + 1}; COMMIT;`);
  }

  #snapshot(): { through: number; chunks: number; entries: number } {
    const row = this.#maybe("SELECT * FROM snapshot");
    if (row === undefined) throw new JournalDamage(`${this.path}: the row that names the snapshot is missing`);
    return { through: integer(row.through), chunks: integer(row.chunks), entries: integer(row.entries) };
  }

  #verified(row: Row | undefined, where: string): Stretch {
    if (row === undefined) throw new JournalDamage(`${this.path}: ${where} is missing`);
    const body = String(row.body);
    if (crc32(body) !== row.checksum)
      throw new JournalDamage(`${this.path}: ${where} is damaged: its checksum differs`);
    return { entries: integer(row.entries), body };
  }

  #run(sql: string, ...values: (number | string)[]): number {
    return Number(this.#database.prepare(sql).run(...values).changes);
  }

  #one(sql: string): Row {
    return this.#maybe(sql) ?? {};
  }

  #maybe(sql: string, ...values: number[]): Row | undefined {
    try {
      return this.#database.prepare(sql).get(...values);
    } catch (thrown) {
      const code = codeOf(thrown);
      if (code !== SQLITE_CORRUPT && code !== SQLITE_NOTADB) throw thrown;
      throw new JournalDamage(`${this.path}: ${describeThrown(thrown)}`);
    }
  }
}

type Row = Record<string, unknown>;

/** Primary result codes (sqlite.org, "Result and Error Codes"). */
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

function codeOf(thrown: unknown): number | null {
  const code = (thrown as { errcode?: unknown }).errcode;
  return typeof code === "number" ? code & 0xff : null;
}

function integer(value: unknown): number {
  return typeof value === "number" ? value : Number(value ?? 0);
}
