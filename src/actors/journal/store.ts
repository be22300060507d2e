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
import { closeSync, existsSync, openSync, type Stats, statSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { damageOr } from "./damage.ts";
import { type SnapshotRow, type Stretch, snapshotRowOf } from "./reader.ts";
import { bringUpToDate } from "./schema.ts";

/** Two connections write, the journal and a compaction, each for milliseconds at a time. */
const BUSY_TIMEOUT_MS = 5_000;
/** A full disk still takes a few bytes; this many need new pages. */
const PROBE_CHARACTERS = 16_384;

export interface JournalSize {
  /** Entries in the snapshot and behind it. */
  readonly snapshotEntries: number;
  readonly tailEntries: number;
}

/** A batch that was promised to someone. */
export interface Acknowledged {
  readonly seq: number;
  readonly checksum: number;
}

export interface OpenOptions {
  /** Make the file where there is none. */
  readonly create?: boolean;
  /** In place of `MIGRATIONS`. */
  readonly steps?: readonly string[];
}

export class JournalStore {
  readonly path: string;
  readonly #database: DatabaseSync;
  readonly #insertBatch: StatementSync;
  readonly #file: Stats;
  #wal: Stats | null = null;
  #snapshot: SnapshotRow;
  #newestSeq: number;
  #tailEntries: number;

  /**
   * Opens the file, and makes or migrates it. Throws `JournalDamage` for a file that is not ours, is newer than this
   * program or cannot be read, and whatever SQLite throws when the disk fails.
   */
  constructor(path: string, { create = true, steps }: OpenOptions = {}) {
    if (!existsSync(path)) {
      if (!create) throw new Error(`${path} has been removed`);
      // Tokens of reservations stand in it: it is nobody else's. SQLite gives its other files the mode of this one.
      // Never done to a file that is open: closing it would end the locks that SQLite holds on it (fcntl(2)).
      closeSync(openSync(path, "a", 0o600));
    }
    this.path = path;
    this.#database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      bringUpToDate(this.#database, path, steps);
      this.#file = statSync(path);
      this.#insertBatch = this.#database.prepare("INSERT INTO batches VALUES (?, ?, ?, ?)");
      this.#snapshot = snapshotRowOf(this.#database, path);
      const newest = this.#database.prepare("SELECT max(seq) AS seq FROM batches").get()?.seq;
      this.#newestSeq = Math.max(Number(newest ?? 0), this.#snapshot.through);
      this.#tailEntries = this.#countTail();
    } catch (thrown) {
      this.#database.close();
      throw damageOr(thrown, path);
    }
  }

  get size(): JournalSize {
    return { snapshotEntries: this.#snapshot.entries, tailEntries: this.#tailEntries };
  }

  get newestSeq(): number {
    return this.#newestSeq;
  }

  /**
   * Commits one batch: when this returns it is durable, when it throws nothing is promised. It throws also when the
   * file has been removed or replaced: what is written to it then, nobody would ever find again.
   */
  append({ entries, body }: Stretch): Acknowledged {
    const batch = { seq: this.#newestSeq + 1, checksum: crc32(body) };
    this.#insertBatch.run(batch.seq, entries, batch.checksum, body);
    this.#newestSeq = batch.seq;
    this.#tailEntries += entries;
    this.#expectInPlace();
    return batch;
  }

  /** Whether the batch is in it, by itself or in the snapshot. */
  holds({ seq, checksum }: Acknowledged): boolean {
    if (seq <= this.#snapshot.through) return true;
    return this.#database.prepare("SELECT checksum FROM batches WHERE seq = ?").get(seq)?.checksum === checksum;
  }

  /** Throws what an append would throw: a real commit, as large as an append usually is, and always of the same row. */
  probe(): void {
    this.#run("INSERT OR REPLACE INTO probe VALUES (1, ?)", "x".repeat(PROBE_CHARACTERS));
    this.#expectInPlace();
  }

  /** Writes one chunk of a snapshot that is being made; it counts for nothing until `adoptSnapshot`. */
  writeChunk(through: number, ordinal: number, { entries, body }: Stretch): void {
    this.#run("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", through, ordinal, entries, crc32(body), body);
  }

  /** Makes the snapshot the beginning of the journal, at once. What it stands for can then be dropped. */
  adoptSnapshot(through: number, { chunks, entries }: Omit<SnapshotRow, "through">): void {
    this.#run("UPDATE snapshot SET through = ?, chunks = ?, entries = ?", through, chunks, entries);
    this.recount();
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

  /** Gives room of up to `pages` dropped pages back to the file system. False: no more is to be had. */
  shrinkSome(pages: number): boolean {
    this.#database.exec(`PRAGMA incremental_vacuum(${pages})`);
    return Number(this.#database.prepare("PRAGMA freelist_count").get()?.freelist_count ?? 0) > 0;
  }

  /** Moves the write-ahead log into the file and cuts it off. */
  checkpoint(): void {
    this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** After another connection has made and adopted a snapshot: what lies behind it now. */
  recount(): void {
    this.#snapshot = snapshotRowOf(this.#database, this.path);
    this.#tailEntries = this.#countTail();
  }

  /** Writes all that this connection still sees to another file, also when its own has been removed. */
  copyTo(path: string): void {
    this.#database.prepare("VACUUM INTO ?").run(path);
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #expectInPlace(): void {
    const wal = statSync(`${this.path}-wal`, { throwIfNoEntry: false });
    this.#wal ??= wal ?? null;
    const file = statSync(this.path, { throwIfNoEntry: false });
    if (!isSame(file, this.#file) || !isSame(wal, this.#wal)) {
      throw new Error(`${this.path} has been removed or replaced`);
    }
  }

  #countTail(): number {
    const row = this.#database
      .prepare("SELECT sum(entries) AS entries FROM batches WHERE seq > ?")
      .get(this.#snapshot.through);
    return Number(row?.entries ?? 0);
  }

  #run(sql: string, ...values: (number | string)[]): number {
    return Number(this.#database.prepare(sql).run(...values).changes);
  }
}

function isSame(found: Stats | undefined, known: Stats | null): boolean {
  return found !== undefined && found.ino === known?.ino && found.dev === known.dev;
}
