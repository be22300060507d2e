/**
 * Folds the journal's history into a snapshot, in a thread and on connections of its own: appends go on meanwhile and
 * wait for milliseconds at most. Nothing it writes counts before the snapshot is adopted in one step, so it may be
 * killed anywhere.
 */
import type { Compact, CompactionReplies } from "../../messages/journal.ts";
import { describeThrown } from "../../messages/thrown.ts";
import type { Actor } from "../kernel/actor.ts";
import { journalFile } from "./actor.ts";
import { entriesIn, JournalReader } from "./reader.ts";
import { JournalStore } from "./store.ts";

export interface CompactionInit {
  readonly directory: string;
  /** A `file:` URL of a `SnapshotModule`. */
  readonly module: string;
}

/** Knows what entries mean; the journal does not. */
export interface SnapshotModule {
  /** All that lives after these entries, as entries that rebuild it. */
  snapshotOf(entries: Iterable<unknown>): Iterable<unknown>;
}

/** Entries of one chunk: a transaction of a few milliseconds, for which an append has to wait. */
const CHUNK_ENTRIES = 500;
/** Rows dropped in one transaction. */
const DROPPED_ROWS = 200;
/** Pages of 4 KiB given back in one transaction. */
const SHRUNK_PAGES = 500;

export function createActor({ directory, module }: CompactionInit): Actor<Compact> {
  return {
    receive(_message, answer) {
      // An effect of its own: importing is asynchronous, and the thread has nothing else to do.
      compactWith(directory, module).then(answer, (thrown: unknown) =>
        answer({ failure: describeThrown(thrown) } satisfies CompactionReplies["compact"]),
      );
    },
  };
}

async function compactWith(directory: string, module: string): Promise<CompactionReplies["compact"]> {
  const { snapshotOf } = (await import(module)) as SnapshotModule;
  const store = new JournalStore(journalFile(directory), { create: false });
  try {
    for (const _ of compact(store, snapshotOf));
    const { chunks, entries } = adoptedIn(store.path);
    return { chunks, entries };
  } finally {
    store.close();
  }
}

/** One step per transaction: after any of them the journal holds what it held, and the next compaction begins afresh. */
export function* compact(store: JournalStore, snapshotOf: SnapshotModule["snapshotOf"]): Generator<string> {
  while (store.dropSome(DROPPED_ROWS)) yield "dropped what an earlier one left behind";
  const reader = new JournalReader(store.path);
  const through = reader.newestSeq;
  let chunks = 0;
  let entries = 0;
  for (const chunk of inChunks(snapshotOf(entriesIn(reader)))) {
    store.writeChunk(through, ++chunks, { entries: chunk.length, body: JSON.stringify(chunk) });
    entries += chunk.length;
    yield "wrote a chunk";
  }
  store.adoptSnapshot(through, { chunks, entries });
  yield "adopted the snapshot";
  while (store.dropSome(DROPPED_ROWS)) yield "dropped history";
  while (store.shrinkSome(SHRUNK_PAGES)) yield "gave room back";
  store.checkpoint();
}

function adoptedIn(path: string): { readonly chunks: number; readonly entries: number } {
  const reader = new JournalReader(path);
  reader.close();
  return reader.snapshot;
}

function* inChunks(entries: Iterable<unknown>): Generator<unknown[]> {
  let chunk: unknown[] = [];
  for (const entry of entries) {
    chunk.push(entry);
    if (chunk.length < CHUNK_ENTRIES) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
