/**
 * The journal actor, in a worker thread of its own: a commit waits for the disk, and nothing else shall. It holds the
 * lock of the state directory for as long as it lives.
 *
 * A failing disk is an outcome, not an end: the file is closed, and opened again by the next message, until it works.
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
import type { Actor, ActorContext } from "../kernel/actor.ts";
import { describeThrown } from "../kernel/outcome.ts";
import { describeHolder, lockState, type StateLock } from "./state-lock.ts";
import { JournalDamage, JournalStore, type Place } from "./store.ts";

export interface JournalInit {
  readonly directory: string;
}

export const journalFile = (directory: string): string => join(directory, "journal.sqlite");

/** A page holds at most so many characters: a message between threads is copied while both wait. */
const PAGE_CHARACTERS = 1_000_000;

/** Below this many entries a compaction would cost more than the room that it gives back (a few MiB). */
const COMPACTABLE_ENTRIES_MIN = 20_000;

export function createActor({ directory }: JournalInit, { clock, log }: ActorContext): Actor<JournalMessage> {
  let lock: StateLock | null = null;
  let open: JournalStore | null = null;

  function store(): JournalStore {
    open ??= new JournalStore(journalFile(directory));
    return open;
  }

  /** Whatever state the connection is in, a new one knows what the disk really has. */
  function giveUp(thrown: unknown): string {
    const reason = describeThrown(thrown);
    try {
      open?.close();
    } catch (closing) {
      log.warn({ reason: describeThrown(closing) }, "the journal's file could not be closed");
    }
    open = null;
    return reason;
  }

  function onOpen(): JournalReplies["open"] {
    try {
      // Tokens of reservations stand in the file: it is nobody else's.
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      lock ??= lockState(directory, new Date(clock.wallMs()).toISOString());
      if (lock === null)
        return refused(
          "held",
          `${directory}: held by ${describeHolder(directory)}; stop it, or choose another --state-dir`,
        );
      store().verify();
      return { refusal: null };
    } catch (thrown) {
      const kind = thrown instanceof JournalDamage ? "damaged" : "disk";
      const reason = giveUp(thrown);
      return refused(kind, kind === "disk" ? `${directory}: ${reason}` : reason);
    }
  }

  function onAppend(batch: AppendBatch): JournalReplies["append"] {
    try {
      store().append(batch);
      return { failure: null, compactable: isCompactable(store()) };
    } catch (thrown) {
      return { failure: giveUp(thrown), compactable: false };
    }
  }

  function onRead({ place }: ReadJournal): JournalReplies["read"] {
    try {
      return { page: pageAfter(store(), place) };
    } catch (thrown) {
      return { failure: giveUp(thrown) };
    }
  }

  function onProbe(): JournalReplies["probe"] {
    try {
      store().probe();
      return { failure: null };
    } catch (thrown) {
      return { failure: giveUp(thrown) };
    }
  }

  function onCompacted(): null {
    try {
      store().recount();
    } catch (thrown) {
      giveUp(thrown);
    }
    return null;
  }

  return {
    receive(message, answer) {
      switch (message.type) {
        case "open":
          return answer(onOpen());
        case "append":
          return answer(onAppend(message));
        case "read":
          return answer(onRead(message));
        case "probe":
          return answer(onProbe());
        case "compacted":
          return answer(onCompacted());
        default:
          return message satisfies never;
      }
    },
    stopped() {
      giveUp(null);
      lock?.release();
      lock = null;
    },
  };
}

function refused(kind: JournalRefusal["kind"], message: string): JournalReplies["open"] {
  return { refusal: { kind, message } };
}

/** History is dropped once it is twice what lives, so the file stays within a small multiple of that. */
function isCompactable({ size }: JournalStore): boolean {
  return size.tailEntries >= Math.max(COMPACTABLE_ENTRIES_MIN, 2 * size.snapshotEntries);
}

function pageAfter(store: JournalStore, from: Place): JournalPage {
  const bodies: string[] = [];
  let characters = 0;
  let place = from;
  while (characters < PAGE_CHARACTERS) {
    const next = store.readAfter(place);
    if (next === null) return { bodies, next: null };
    place = next.place;
    bodies.push(next.stretch.body);
    characters += next.stretch.body.length;
  }
  return { bodies, next: place };
}
