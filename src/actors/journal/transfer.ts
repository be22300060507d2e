/**
 * A journal as text, for backups and for people: a header line, then one entry a line, each of them JSON. An export is
 * of one moment, also while a scheduler writes to the journal.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { journalFile } from "./actor.ts";
import { entriesIn, type JournalReader } from "./reader.ts";
import { syncFile } from "./rescue.ts";
import { SCHEMA_VERSION } from "./schema.ts";
import { describeHolder, lockState } from "./state-lock.ts";
import { JournalStore } from "./store.ts";

const FORMAT = "evenkeel-journal";

const headerSchema = z.object({
  format: z.literal(FORMAT),
  schema: z.number().int().positive(),
  /** Lines that follow: an export that was cut off is known by it. */
  entries: z.number().int().nonnegative(),
});

/** The text cannot be taken for a journal, or not into this directory; `message` is one line. */
export class ImportRefusal extends Error {}

/** Lines with their line breaks, the header first. Closes the reader. Throws `JournalDamage`. */
export function* exportedLines(reader: JournalReader): Generator<string> {
  const { schemaVersion: schema, snapshot, tailEntries } = reader;
  yield `${JSON.stringify({ format: FORMAT, schema, entries: snapshot.entries + tailEntries })}\n`;
  for (const entry of entriesIn(reader)) yield `${JSON.stringify(entry)}\n`;
}

export interface Importing {
  readonly lines: AsyncIterable<string>;
  /** Made if it is not there; must be empty. */
  readonly directory: string;
  /** For whoever finds the directory locked: a moment in ISO 8601. */
  readonly startedAt: string;
  /** Judges all entries together before they become a journal. Throws when they make none. */
  readonly judge: (entries: readonly unknown[]) => void;
}

/** Builds a journal from an export; it is there as a whole or not at all. Returns its entries. Throws `ImportRefusal`. */
export async function importJournal({ lines, directory, startedAt, judge }: Importing): Promise<number> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const [found] = readdirSync(directory);
  if (found !== undefined) {
    throw new ImportRefusal(`${directory}: has ${found} in it; name a directory that is empty or not there yet`);
  }
  const lock = lockState(directory, startedAt);
  if (lock === null) throw new ImportRefusal(`${directory}: held by ${describeHolder(directory)}`);
  try {
    const entries = await parsedLines(lines);
    judge(entries);
    write(entries, directory);
    return entries.length;
  } finally {
    lock.release();
    if (!existsSync(journalFile(directory))) clear(directory);
  }
}

async function parsedLines(lines: AsyncIterable<string>): Promise<unknown[]> {
  const entries: unknown[] = [];
  let header: z.infer<typeof headerSchema> | null = null;
  let number = 0;
  for await (const line of lines) {
    number += 1;
    const value = parsed(line, number);
    if (header === null) header = headerIn(value);
    else entries.push(value);
  }
  if (header === null) throw new ImportRefusal("nothing was given to import");
  if (entries.length !== header.entries) {
    throw new ImportRefusal(`the header names ${header.entries} entries, and ${entries.length} followed`);
  }
  return entries;
}

function parsed(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new ImportRefusal(`line ${number} is no JSON`);
  }
}

function headerIn(value: unknown): z.infer<typeof headerSchema> {
  const header = headerSchema.safeParse(value);
  if (!header.success) throw new ImportRefusal(`line 1 is no header of an ${FORMAT} export`);
  if (header.data.schema > SCHEMA_VERSION) {
    throw new ImportRefusal(
      `exported by a newer evenkeel (schema ${header.data.schema}, this one knows ${SCHEMA_VERSION}); import with that one`,
    );
  }
  return header.data;
}

/** Entries of one transaction. */
const BATCH_ENTRIES = 1_000;

function write(entries: readonly unknown[], directory: string): void {
  const store = new JournalStore(join(directory, "import.sqlite"));
  try {
    for (let from = 0; from < entries.length; from += BATCH_ENTRIES) {
      const batch = entries.slice(from, from + BATCH_ENTRIES);
      store.append({ entries: batch.length, body: JSON.stringify(batch) });
    }
  } finally {
    store.close();
  }
  syncFile(store.path);
  renameSync(store.path, journalFile(directory));
  syncFile(directory);
}

/** What a failed import has made, so that it can be repeated. */
function clear(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (/^(import\.sqlite(-wal|-shm)?|lock\.sqlite|holder\.json)$/.test(name)) rmSync(join(directory, name));
  }
}
