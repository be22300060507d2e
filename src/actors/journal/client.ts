/** The journal as the placement actor sees it: a log that lives in other threads. */
import type {
  Compact,
  CompactionReplies,
  JournalMessage,
  JournalRefusal,
  JournalReplies,
  ReadJournal,
} from "../../messages/journal.ts";
import type { Log } from "../kernel/actor.ts";
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

type Failure = string | null;

export interface Journal {
  /** Null when the directory is ours and every row of the journal is whole. */
  open(): Promise<JournalRefusal | null>;
  /** `done(null)`: durable. `done(reason)`: not promised. Appends commit in the order of the calls. */
  append(entries: readonly unknown[], done: (failure: Failure) => void): void;
  /** All entries, in order. Fails for as long as an append would. */
  read(done: (content: { ok: true; entries: Iterable<unknown> } | { ok: false; reason: string }) => void): void;
}

export interface JournalOptions {
  readonly directory: string;
  /** A `file:` URL of a module that makes snapshots; see `compaction.ts`. */
  readonly snapshotModule: string;
  readonly log: Log;
}

/** Spawns the journal and its compaction, each in a thread of its own. */
export function spawnJournal(system: ActorSystem, { directory, snapshotModule, log }: JournalOptions): Journal {
  const journal = system.spawn<JournalMessage, JournalReplies>(
    "journal",
    { module: moduleUrl(import.meta.url, "./actor"), init: { directory } satisfies JournalInit },
    { place: "journal" },
  );
  const startCompaction = compactionOf(system, { directory, module: snapshotModule }, { journal, log });

  return {
    async open() {
      const outcome = await journal.ask({ type: "open" }, { deadlineMs: OPEN_DEADLINE_MS });
      return outcome.ok ? outcome.value.refusal : { kind: "disk", message: `${directory}: ${outcome.error.message}` };
    },
    append(entries, done) {
      const message = { type: "append", body: JSON.stringify(entries), entries: entries.length } as const;
      void journal.ask(message, { deadlineMs: APPEND_DEADLINE_MS }).then((outcome) => {
        if (!outcome.ok) return done(outcome.error.message);
        done(outcome.value.failure);
        if (outcome.value.compactable) startCompaction();
      });
    },
    read(done) {
      void readAll(journal).then(done);
    },
  };
}

async function readAll(
  journal: Reference<JournalMessage, JournalReplies>,
): Promise<{ ok: true; entries: Iterable<unknown> } | { ok: false; reason: string }> {
  const probed = await journal.ask({ type: "probe" }, { deadlineMs: APPEND_DEADLINE_MS });
  const failure = probed.ok ? probed.value.failure : probed.error.message;
  if (failure !== null) return { ok: false, reason: failure };
  const bodies: string[] = [];
  let place: ReadJournal["place"] | null = { chunks: 0, seq: 0 };
  while (place !== null) {
    const outcome: Outcome<JournalReplies["read"]> = await journal.ask(
      { type: "read", place },
      { deadlineMs: READ_DEADLINE_MS },
    );
    if (!outcome.ok) return { ok: false, reason: outcome.error.message };
    if ("failure" in outcome.value) return { ok: false, reason: outcome.value.failure };
    for (const body of outcome.value.page.bodies) bodies.push(body);
    place = outcome.value.page.next;
  }
  return { ok: true, entries: parsed(bodies) };
}

function* parsed(bodies: readonly string[]): Generator<unknown> {
  for (const body of bodies) yield* JSON.parse(body) as unknown[];
}

/**
 * Starts a compaction unless one runs. Its thread ends with it: it is needed once in many thousand batches, and holds
 * the memory of a whole state.
 */
function compactionOf(
  system: ActorSystem,
  init: CompactionInit,
  { journal, log }: { journal: Reference<JournalMessage, JournalReplies>; log: Log },
): () => void {
  const place = "compaction";
  let running = false;
  const run = async (): Promise<void> => {
    const compaction = system.spawn<Compact, CompactionReplies>(
      "compaction",
      { module: moduleUrl(import.meta.url, "./compaction"), init },
      { place },
    );
    const outcome = await compaction.ask({ type: "compact" }, { deadlineMs: COMPACTION_DEADLINE_MS });
    await system.stopActor("compaction");
    await system.endThread(place, APPEND_DEADLINE_MS);
    const failure = outcome.ok ? ("failure" in outcome.value ? outcome.value.failure : null) : outcome.error.message;
    if (failure === null) log.info({ ...(outcome.ok ? outcome.value : {}) }, "the journal was compacted");
    else log.warn({ reason: failure }, "the journal could not be compacted; it is tried again later");
    await journal.ask({ type: "compacted" }, { deadlineMs: APPEND_DEADLINE_MS });
  };
  return () => {
    if (running) return;
    running = true;
    run()
      .catch((thrown: unknown) => log.warn({ reason: String(thrown) }, "the journal could not be compacted"))
      .finally(() => {
        running = false;
      });
  };
}
