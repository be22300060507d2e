/** What is said to the journal and to the compaction beside it. Entries are texts: JSON arrays that nobody there reads. */

export interface OpenJournal {
  readonly type: "open";
}

/** Commits one batch: all of its entries or none, behind everything appended before. */
export interface AppendBatch {
  readonly type: "append";
  /** A JSON array. */
  readonly body: string;
  /** Its length. */
  readonly entries: number;
}

/** The next page of the journal as it stands at the first one. */
export interface ReadJournal {
  readonly type: "read";
  /** Begins anew, whatever was read before. */
  readonly first: boolean;
}

/** A compaction is over: what is left has to be counted anew. */
export interface NoteCompacted {
  readonly type: "compacted";
}

/** A write that leaves nothing behind: whether an append would work now. */
export interface ProbeJournal {
  readonly type: "probe";
}

export type JournalMessage = OpenJournal | AppendBatch | ReadJournal | NoteCompacted | ProbeJournal;

/** Why the journal cannot be opened: `held` by another process, `damaged`, or the `disk` refuses. */
export interface JournalRefusal {
  readonly kind: "held" | "damaged" | "disk";
  /** One line that says what is wrong and where. */
  readonly message: string;
}

export interface JournalPage {
  /** JSON arrays of entries, in order. */
  readonly bodies: readonly string[];
  readonly last: boolean;
}

export type JournalReplies = {
  open: { readonly refusal: JournalRefusal | null };
  /** `failure` null: the batch is durable, and `compactable` says that history outweighs what lives. */
  append: { readonly failure: string | null; readonly compactable: boolean };
  read: { readonly page: JournalPage } | { readonly failure: string };
  compacted: null;
  probe: { readonly failure: string | null };
};

/** To the compaction: fold everything up to now into a snapshot and drop the history. */
export interface Compact {
  readonly type: "compact";
}

export type CompactionReplies = {
  compact: { readonly failure: string } | { readonly entries: number; readonly chunks: number };
};
