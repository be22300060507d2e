/** The journal as the placement actor sees it: a log that lives in other threads. */
import type {
  Compact,
  CompactionReplies,
  JournalMessage,
  JournalRefusal,
  JournalReplies,
} from "../../messages/journal.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Log } from "../kernel/actor.ts";
import { backoffMs } from "../kernel/backoff.ts";
import { moduleUrl } from "../kernel/module-url.ts";
import type { Outcome } from "../kernel/outcome.ts";
import type { Reference } from "../kernel/reference.ts";
import type { ActorSystem } from "../kernel/system.ts";
import type { JournalInit } from "./actor.ts";
import type { CompactionInit } from "./compaction.ts";

/** A disk that takes longer is as good as failing: callers have given up by then. */
const APPEND_DEADLINE_MS = 8_000;
const READ_DEADLINE_MS = 30_000;
/** Checks every row of a journal of any size that is still worth starting from. */
const OPEN_DEADLINE_MS = 120_000;
const COMPACTION_DEADLINE_MS = 600_000;
/** Notes wait so long for an append to ride along with: rosters of a large fleet would else cost a disk flush each. */
const NOTE_WAIT_MS = 250;
/** Of notes that a failing disk does not take; they say what the next rosters say again. */
const NOTES_MAX = 100_000;

type Failure = string | null;

export type JournalContent =
  | { readonly ok: true; readonly entries: Iterable<unknown> }
  | { readonly ok: false; readonly reason: string };

export interface Journal {
  /** Null when the directory is ours and every row of the journal is whole. */
  open(): Promise<JournalRefusal | null>;
  /** `done(null)`: durable. `done(reason)`: not promised. Appends commit in the order of the calls. */
  append(entries: readonly unknown[], done: (failure: Failure) => void): void;
  /** Commits what no answer hangs on, with the next append or soon; lost when that fails. */
  note(entries: readonly unknown[]): void;
  /** All entries, in order. Fails for as long as an append would. */
  read(done: (content: JournalContent) => void): void;
}

export interface JournalOptions {
  readonly directory: string;
  /** A `file:` URL of a module that makes snapshots; see `compaction.ts`. */
  readonly snapshotModule: string;
  readonly log: Log;
  readonly clock: Clock;
  /** As in `JournalInit`. */
  readonly compactableEntriesMin?: number;
}

type JournalReference = Reference<JournalMessage, JournalReplies>;

/** Spawns the journal and its compaction, each in a thread of its own. */
export function spawnJournal(system: ActorSystem, options: JournalOptions): Journal {
  const { directory, snapshotModule, log, clock, compactableEntriesMin } = options;
  const init: JournalInit = { directory, ...(compactableEntriesMin === undefined ? {} : { compactableEntriesMin }) };
  const journal = system.spawn<JournalMessage, JournalReplies>(
    "journal",
    { module: moduleUrl(import.meta.url, "./actor"), init },
    { place: "journal" },
  );
  const startCompaction = compactionOf(system, { directory, module: snapshotModule }, { journal, log, clock });
  let notes: unknown[] = [];
  let noteTimer: Timer | null = null;
  /** What `open` has read, for the first `read`: a large journal is not gone through twice at a start. */
  let readAtOpen: JournalContent | null = null;

  function append(entries: readonly unknown[], done: (failure: Failure) => void): void {
    readAtOpen = null;
    const all = notes.length === 0 ? entries : [...notes, ...entries];
    notes = [];
    noteTimer?.cancel();
    noteTimer = null;
    const message = { type: "append", body: JSON.stringify(all), entries: all.length } as const;
    void journal.ask(message, { deadlineMs: APPEND_DEADLINE_MS }).then((outcome) => {
      if (!outcome.ok) return done(outcome.error.message);
      done(outcome.value.failure);
      if (outcome.value.compactable) startCompaction();
    });
  }

  return {
    async open() {
      const outcome = await journal.ask({ type: "open" }, { deadlineMs: OPEN_DEADLINE_MS });
      if (!outcome.ok) return { kind: "disk", message: `${directory}: ${outcome.error.message}` };
      if (outcome.value.refusal !== null) return outcome.value.refusal;
      const content = await readAll(journal);
      if (!content.ok) return { kind: "damaged", message: content.reason };
      readAtOpen = content;
      return null;
    },
    append,
    note(entries) {
      if (notes.length >= NOTES_MAX) return;
      for (const entry of entries) notes.push(entry);
      noteTimer ??= clock.after(NOTE_WAIT_MS, () => append([], () => undefined));
    },
    read(done) {
      const content = readAtOpen;
      readAtOpen = null;
      if (content === null) void readAll(journal).then(done);
      else done(content);
    },
  };
}

async function readAll(journal: JournalReference): Promise<JournalContent> {
  const bodies: string[] = [];
  for (let first = true, last = false; !last; first = false) {
    const outcome: Outcome<JournalReplies["read"]> = await journal.ask(
      { type: "read", first },
      { deadlineMs: READ_DEADLINE_MS },
    );
    if (!outcome.ok) return { ok: false, reason: outcome.error.message };
    if ("failure" in outcome.value) return { ok: false, reason: outcome.value.failure };
    for (const body of outcome.value.page.bodies) bodies.push(body);
    ({ last } = outcome.value.page);
  }
  // It writes, so it comes last: a damaged file is left as it was found.
  const probed = await journal.ask({ type: "probe" }, { deadlineMs: APPEND_DEADLINE_MS });
  const failure = probed.ok ? probed.value.failure : probed.error.message;
  return failure === null ? { ok: true, entries: parsed(bodies) } : { ok: false, reason: failure };
}

function* parsed(bodies: string[]): Generator<unknown> {
  // What has been parsed is let go: a large journal would else be held twice.
  for (const [position, body] of bodies.entries()) {
    bodies[position] = "";
    yield* JSON.parse(body) as unknown[];
  }
}

/**
 * Starts a compaction unless one runs, or the last one failed a moment ago. Its thread ends with it: it is needed once
 * in many thousand batches, and holds the memory of a whole state.
 */
function compactionOf(
  system: ActorSystem,
  init: CompactionInit,
  { journal, log, clock }: { journal: JournalReference; log: Log; clock: Clock },
): () => void {
  const place = "compaction";
  let running = false;
  let failuresInRow = 0;
  let notBeforeMs = Number.NEGATIVE_INFINITY;

  async function run(): Promise<void> {
    const startedMs = clock.monotonicMs();
    const compaction = system.spawn<Compact, CompactionReplies>(
      "compaction",
      { module: moduleUrl(import.meta.url, "./compaction"), init },
      { place },
    );
    const outcome = await compaction.ask({ type: "compact" }, { deadlineMs: COMPACTION_DEADLINE_MS });
    await system.stopActor("compaction");
    await system.endThread(place, APPEND_DEADLINE_MS);
    await journal.ask({ type: "compacted" }, { deadlineMs: APPEND_DEADLINE_MS });
    if (!outcome.ok) throw new Error(outcome.error.message);
    if ("failure" in outcome.value) throw new Error(outcome.value.failure);
    const tookMs = Math.round(clock.monotonicMs() - startedMs);
    log.info({ ...outcome.value, tookMs }, "the journal was compacted");
    failuresInRow = 0;
  }

  return () => {
    if (running || clock.monotonicMs() < notBeforeMs) return;
    running = true;
    run()
      .catch((thrown: unknown) => {
        failuresInRow += 1;
        const retryMs = backoffMs(failuresInRow);
        notBeforeMs = clock.monotonicMs() + retryMs;
        log.warn({ reason: String(thrown), retryMs }, "the journal could not be compacted; it is tried again later");
      })
      .finally(() => {
        running = false;
      });
  };
}
