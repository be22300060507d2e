/**
 * The journal actor, in a worker thread of its own: a commit waits for the disk, and nothing else shall. It holds the
 * lock of the state directory for as long as it lives.
 *
 * A failing disk is an outcome, not an end: the file is closed, and opened again by the next message, until it works.
 * What is found then must hold the newest batch that was promised to someone; an older file is refused, since going on
 * from it would undo what callers were told.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type {
  AppendBatch,
  JournalMessage,
  JournalPage,
  JournalRefusal,
  JournalReplies,
  ReadJournal,
} from "../../messages/journal.ts";
import { describeThrown } from "../../messages/thrown.ts";
import type { Actor, ActorContext } from "../kernel/actor.ts";
import { JournalDamage } from "./damage.ts";
import { JournalReader, type Stretch } from "./reader.ts";
import { rescue, syncFile } from "./rescue.ts";
import { describeHolder, lockState, type StateLock } from "./state-lock.ts";
import { type Acknowledged, JournalStore } from "./store.ts";

export interface JournalInit {
  readonly directory: string;
  /** `COMPACTABLE_ENTRIES_MIN` unless given. */
  readonly compactableEntriesMin?: number;
}

export const journalFile = (directory: string): string => join(directory, "journal.sqlite");

/** A page holds at most so many characters: a message between threads is copied while both wait. */
const PAGE_CHARACTERS = 1_000_000;

/**
 * Shorter histories are left alone: this many entries are 40 to 50 MB and replayed in less than a second, while a
 * compaction costs a second of another core, which a busy scheduler would pay every few seconds.
 */
const COMPACTABLE_ENTRIES_MIN = 100_000;

/** The state directory is another process's. */
class HeldDirectory extends Error {}

interface Reading {
  readonly reader: JournalReader;
  readonly stretches: Iterator<Stretch>;
}

export function createActor(init: JournalInit, context: ActorContext): Actor<JournalMessage> {
  return new JournalActor(init, context);
}

class JournalActor implements Actor<JournalMessage> {
  readonly #directory: string;
  readonly #compactableEntriesMin: number;
  readonly #context: ActorContext;
  #lock: StateLock | null = null;
  #open: JournalStore | null = null;
  #reading: Reading | null = null;
  #acknowledged: Acknowledged | null = null;

  constructor({ directory, compactableEntriesMin = COMPACTABLE_ENTRIES_MIN }: JournalInit, context: ActorContext) {
    this.#directory = directory;
    this.#compactableEntriesMin = compactableEntriesMin;
    this.#context = context;
  }

  receive(message: JournalMessage, answer: (value: unknown) => void): void {
    switch (message.type) {
      case "open":
        return answer(this.#onOpen());
      case "append":
        return answer(this.#onAppend(message));
      case "read":
        return answer(this.#onRead(message));
      case "probe":
        return answer(this.#onProbe());
      case "compacted":
        return answer(this.#onCompacted());
      default:
        return message satisfies never;
    }
  }

  stopped(): void {
    this.#closeAll();
    this.#lock?.release();
    this.#lock = null;
  }

  #onOpen(): JournalReplies["open"] {
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      this.#store();
      // The name of a file that has just been made is on the disk only when its directory is (fsync(2)).
      syncFile(this.#directory);
      const reader = new JournalReader(journalFile(this.#directory));
      try {
        reader.checkPages();
      } finally {
        reader.close();
      }
      return { refusal: null };
    } catch (thrown) {
      const reason = this.#giveUp(thrown);
      if (thrown instanceof JournalDamage) return refused("damaged", reason);
      if (thrown instanceof HeldDirectory) return refused("held", reason);
      return refused("disk", `${this.#directory}: ${reason}`);
    }
  }

  #onAppend(batch: AppendBatch): JournalReplies["append"] {
    try {
      const store = this.#store();
      this.#acknowledged = store.append(batch);
      const { tailEntries, snapshotEntries } = store.size;
      // History is dropped once it is twice what lives, so the file stays within a small multiple of that.
      const compactable = tailEntries >= Math.max(this.#compactableEntriesMin, 2 * snapshotEntries);
      return { failure: null, compactable };
    } catch (thrown) {
      return { failure: this.#giveUp(thrown), compactable: false };
    }
  }

  #onRead({ first }: ReadJournal): JournalReplies["read"] {
    try {
      if (first) this.#beginReading();
      if (this.#reading === null) return { failure: "reading the journal was interrupted" };
      const page = pageOf(this.#reading.stretches);
      if (page.last) this.#endReading();
      return { page };
    } catch (thrown) {
      return { failure: this.#giveUp(thrown) };
    }
  }

  #onProbe(): JournalReplies["probe"] {
    try {
      this.#store().probe();
      return { failure: null };
    } catch (thrown) {
      return { failure: this.#giveUp(thrown) };
    }
  }

  #onCompacted(): null {
    try {
      this.#open?.recount();
    } catch (thrown) {
      this.#giveUp(thrown);
    }
    return null;
  }

  /** The open file, ours alone. A new life of this actor takes the lock again. */
  #store(): JournalStore {
    if (this.#lock === null) {
      this.#lock = lockState(this.#directory, new Date(this.#context.clock.wallMs()).toISOString());
      if (this.#lock === null) {
        const holder = describeHolder(this.#directory);
        throw new HeldDirectory(`${this.#directory}: held by ${holder}; stop it, or choose another --state-dir`);
      }
    }
    if (this.#open !== null) return this.#open;
    const store = new JournalStore(journalFile(this.#directory), { create: this.#acknowledged === null });
    if (this.#acknowledged !== null && !store.holds(this.#acknowledged)) {
      const { newestSeq, path } = store;
      store.close();
      const promised = `batch ${this.#acknowledged.seq} was promised and is not in it`;
      throw new Error(`${path} is an older or another journal (it ends at batch ${newestSeq}): ${promised}`);
    }
    this.#open = store;
    return store;
  }

  #beginReading(): void {
    this.#endReading();
    const reader = new JournalReader(this.#store().path);
    this.#reading = { reader, stretches: reader.stretches() };
  }

  #endReading(): void {
    this.#reading?.reader.close();
    this.#reading = null;
  }

  /** Whatever state the connection is in, a new one knows what the disk really has. */
  #giveUp(thrown: unknown): string {
    const { log } = this.#context;
    try {
      if (this.#open !== null && this.#acknowledged !== null && rescue(this.#open)) {
        log.warn({ path: this.#open.path }, "the journal's file was removed; it has been written again");
      }
    } catch (failing) {
      log.warn({ reason: describeThrown(failing) }, "the journal's file was removed and cannot be written again");
      // It is all there is of the journal as long as it stays open.
      return describeThrown(thrown);
    }
    this.#closeAll();
    return describeThrown(thrown);
  }

  #closeAll(): void {
    for (const close of [() => this.#endReading(), () => this.#open?.close()]) {
      try {
        close();
      } catch (thrown) {
        this.#context.log.warn({ reason: describeThrown(thrown) }, "the journal's file could not be closed");
      }
    }
    this.#open = null;
  }
}

function refused(kind: JournalRefusal["kind"], message: string): JournalReplies["open"] {
  return { refusal: { kind, message } };
}

function pageOf(stretches: Iterator<Stretch>): JournalPage {
  const bodies: string[] = [];
  for (let characters = 0; characters < PAGE_CHARACTERS; ) {
    const next = stretches.next();
    if (next.done === true) return { bodies, last: true };
    bodies.push(next.value.body);
    characters += next.value.body.length;
  }
  return { bodies, last: false };
}
