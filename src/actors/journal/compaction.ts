/**
 * Folds the journal's history into a snapshot, in a thread and on a connection of its own: appends go on meanwhile and
 * wait for milliseconds at most. Nothing it writes counts before the snapshot is adopted in one step, so it may be
 * killed anywhere.
 */
import type { Compact, CompactionReplies } from "../../messages/journal.ts";
import type { Actor, ActorContext } from "../kernel/actor.ts";
import { describeThrown } from "../kernel/outcome.ts";
import { journalFile } from "./actor.ts";
import { JournalStore, type Place } from "./store.ts";

export interface CompactionInit {
  readonly directory: string;
  /** A `file:` URL of a `SnapshotModule`. */
  readonly module: string;
}

/** Knows what entries mean; the journal does not. */
export interface SnapshotModule {
  /** All that lives after these entries, as entries that rebuild it. `wallMs`: Unix milliseconds. */
  snapshotOf(entries: Iterable<unknown>, wallMs: number): Iterable<unknown>;
}

/** Entries of one chunk: a transaction of a few milliseconds, for which an append has to wait. */
const CHUNK_ENTRIES = 1_000;
/** Rows dropped in one transaction. */
const DROPPED_ROWS = 1_000;

export function createActor({ directory, module }: CompactionInit, { clock }: ActorContext): Actor<Compact> {
  return {
    receive(_message, answer) {
      // An effect of its own: importing is asynchronous, and the thread has nothing else to do.
      compact(directory, module, clock.wallMs()).then(answer, (thrown: unknown) =>
        answer({ failure: describeThrown(thrown) } satisfies CompactionReplies["compact"]),
      );
    },
  };
}

async function compact(directory: string, module: string, wallMs: number): Promise<CompactionReplies["compact"]> {
  const { snapshotOf } = (await import(module)) as SnapshotModule;
  const store = new JournalStore(journalFile(directory));
  try {
    while (store.dropSome(DROPPED_ROWS)); // what an earlier one left behind
    const through = store.newestSeq;
    let chunks = 0;
    let entries = 0;
    for (const chunk of inChunks(snapshotOf(entriesOf(store, through), wallMs))) {
      store.writeChunk(through, ++chunks, { entries: chunk.length, body: JSON.stringify(chunk) });
      entries += chunk.length;
    }
    store.adoptSnapshot(through, { chunks, entries });
    while (store.dropSome(DROPPED_ROWS));
    store.shrink();
    return { chunks, entries };
  } finally {
    store.close();
  }
}

/** Batches up to `through` never change, so they can be read one by one while others are appended. */
export function* entriesOf(store: JournalStore, through = store.newestSeq): Generator<unknown> {
  let place: Place = { chunks: 0, seq: 0 };
  for (let next = store.readAfter(place, through); next !== null; next = store.readAfter(place, through)) {
    place = next.place;
    yield* JSON.parse(next.stretch.body) as unknown[];
  }
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
