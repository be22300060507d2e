/**
 * Reads a journal as it stood when the first stretch was asked for, on a connection and in a transaction of its own:
 * appends and compactions go on meanwhile and change nothing of what is read.
 */
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { damageOr, JournalDamage } from "./damage.ts";
import { schemaVersionOf } from "./schema.ts";

/** A stretch of entries as it is stored: a JSON array of `entries` elements. */
export interface Stretch {
  readonly entries: number;
  readonly body: string;
}

/** Where the snapshot ends and the batches begin. */
export interface SnapshotRow {
  /** The last batch that the snapshot stands for; 0 without one. */
  readonly through: number;
  readonly chunks: number;
  readonly entries: number;
}

/** A chunk waits this long for a connection that is writing; readers of a write-ahead log hardly ever wait. */
const BUSY_TIMEOUT_MS = 5_000;

export class JournalReader {
  readonly path: string;
  readonly schemaVersion: number;
  readonly snapshot: SnapshotRow;
  /** Of the last batch, or of the last one that the snapshot stands for. */
  readonly newestSeq: number;
  /** Behind the snapshot. */
  readonly tailEntries: number;
  readonly #database: DatabaseSync;

  /** Throws `JournalDamage` for what is no journal that this program can read, and what SQLite throws else. */
  constructor(path: string) {
    if (!existsSync(path)) throw new JournalDamage(`${path}: there is no journal`);
    this.path = path;
    this.#database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    try {
      this.schemaVersion = schemaVersionOf(this.#database, path);
      if (this.schemaVersion === 0) throw new JournalDamage(`${path}: there is no journal`);
      this.#database.exec("BEGIN");
      this.snapshot = snapshotRowOf(this.#database, path);
      const { through } = this.snapshot;
      const tail = this.#database
        .prepare("SELECT max(seq) AS seq, sum(entries) AS entries FROM batches WHERE seq > ?")
        .get(through);
      this.newestSeq = Math.max(Number(tail?.seq ?? 0), through);
      this.tailEntries = Number(tail?.entries ?? 0);
    } catch (thrown) {
      this.#database.close();
      throw damageOr(thrown, path);
    }
  }

  /** Whether the pages of the file fit together. Throws `JournalDamage`. */
  checkPages(): void {
    const { path } = this;
    try {
      const verdict = this.#database.prepare("PRAGMA quick_check(1)").get()?.quick_check;
      if (verdict !== "ok") throw new JournalDamage(`${path}: ${String(verdict).split("\n").join(" ")}`);
    } catch (thrown) {
      throw damageOr(thrown, path);
    }
  }

  /** The snapshot, then the batches behind it. Throws `JournalDamage` for the first that is missing or damaged. */
  *stretches(): Generator<Stretch> {
    try {
      yield* this.#chunks();
      yield* this.#batches();
    } catch (thrown) {
      throw damageOr(thrown, this.path);
    }
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  *#chunks(): Generator<Stretch> {
    const { through, chunks } = this.snapshot;
    const rows = this.#database.prepare("SELECT * FROM chunks WHERE through = ? ORDER BY ordinal").iterate(through);
    let read = 0;
    const where = (ordinal: number): string => `snapshot ${through}, chunk ${ordinal} of ${chunks}`;
    for (const row of rows) {
      read += 1;
      if (row.ordinal !== read) throw this.#missing(where(read));
      yield this.#verified(row, where(read));
    }
    if (read < chunks) throw this.#missing(where(read + 1));
  }

  *#batches(): Generator<Stretch> {
    let seq = this.snapshot.through;
    const rows = this.#database.prepare("SELECT * FROM batches WHERE seq > ? ORDER BY seq").iterate(seq);
    for (const row of rows) {
      seq += 1;
      if (row.seq !== seq) throw this.#missing(`batch ${seq}`);
      yield this.#verified(row, `batch ${seq}`);
    }
  }

  #verified(row: Record<string, unknown>, where: string): Stretch {
    const body = String(row.body);
    if (crc32(body) !== row.checksum) {
      throw new JournalDamage(`${this.path}: ${where} is damaged: its checksum differs`);
    }
    return { entries: Number(row.entries), body };
  }

  #missing(where: string): JournalDamage {
    return new JournalDamage(`${this.path}: ${where} is missing`);
  }
}

/** Throws `JournalDamage` when it is missing. */
export function snapshotRowOf(database: DatabaseSync, path: string): SnapshotRow {
  const row = database.prepare("SELECT * FROM snapshot").get();
  if (row === undefined) throw new JournalDamage(`${path}: the row that names the snapshot is missing`);
  return { through: Number(row.through), chunks: Number(row.chunks), entries: Number(row.entries) };
}

/** The entries of a journal, one by one; the reader is closed at the end, whichever that is. */
export function* entriesIn(reader: JournalReader): Generator<unknown> {
  try {
    for (const { body } of reader.stretches()) yield* JSON.parse(body) as unknown[];
  } finally {
    reader.close();
  }
}
