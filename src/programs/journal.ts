/** What `evenkeel journal` does. Each returns the exit code: 1 when it could not, or not all of it. */
import { createReadStream, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { journalFile } from "../actors/journal/actor.ts";
import { JournalReader } from "../actors/journal/reader.ts";
import { exportedLines, ImportRefusal, importJournal } from "../actors/journal/transfer.ts";
import type { LogEntry } from "../actors/placement/event-log.ts";
import { contentOf } from "../actors/placement/journal-content.ts";
import { describeThrown } from "../messages/thrown.ts";
import { systemClock } from "../ports/clock.ts";
import { type CheckedJournal, renderCheck, renderCheckJson } from "./journal-page.ts";

export function checkJournal(directory: string, { json }: { readonly json: boolean }): number {
  let checked: CheckedJournal;
  try {
    checked = check(journalFile(directory));
  } catch (thrown) {
    return complain(describeThrown(thrown));
  }
  process.stdout.write(json ? renderCheckJson(checked) : renderCheck(checked));
  return checked.damage === null ? 0 : complain(checked.damage);
}

/** Throws when there is nothing to read at all. */
function check(path: string): CheckedJournal {
  const reader = new JournalReader(path);
  let damage: string | null = null;
  function note(thrown: unknown): void {
    damage ??= describeThrown(thrown);
  }
  /** The entries that come before the first damage. */
  function* sound(): Generator<LogEntry> {
    try {
      for (const { body, entries } of reader.stretches()) {
        const parsed = JSON.parse(body) as LogEntry[];
        if (parsed.length !== entries) note(`${path}: a row names ${entries} entries and holds ${parsed.length}`);
        yield* parsed;
      }
    } catch (thrown) {
      note(thrown);
    }
  }
  try {
    let content: CheckedJournal["content"] = null;
    try {
      content = contentOf(sound());
    } catch (thrown) {
      note(`${path}: whole rows that make no sense together: ${describeThrown(thrown)}`);
    }
    try {
      reader.checkPages();
    } catch (thrown) {
      note(thrown);
    }
    const { schemaVersion, snapshot, tailEntries, newestSeq } = reader;
    const bytes = sizeOf(path);
    return {
      path,
      bytes,
      walBytes: sizeOf(`${path}-wal`),
      schemaVersion,
      snapshot,
      tailEntries,
      newestSeq,
      content,
      damage,
    };
  } finally {
    reader.close();
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

export async function exportJournal(directory: string): Promise<number> {
  try {
    const lines = exportedLines(new JournalReader(journalFile(directory)));
    await pipeline(Readable.from(inBlocks(lines)), process.stdout, { end: false });
    return 0;
  } catch (thrown) {
    // Whoever read it has seen enough, as `head` does.
    if ((thrown as NodeJS.ErrnoException).code === "EPIPE") return 1;
    return complain(describeThrown(thrown));
  }
}

/** A write for each line would cost more than all the rest. What is whole is written, also when the next line throws. */
function* inBlocks(lines: Iterable<string>): Generator<string> {
  const BLOCK_CHARACTERS = 65_536;
  let block = "";
  try {
    for (const line of lines) {
      block += line;
      if (block.length < BLOCK_CHARACTERS) continue;
      yield block;
      block = "";
    }
  } catch (thrown) {
    yield block;
    throw thrown;
  }
  yield block;
}

/** `file` null: standard input. */
export async function importInto(directory: string, file: string | null): Promise<number> {
  const input = file === null ? process.stdin : createReadStream(file);
  // readline does not hand on what its input throws.
  const failing = new Promise<never>((_, reject) => input.once("error", reject));
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  const startedAt = new Date(systemClock.wallMs()).toISOString();
  const judge = (entries: readonly unknown[]): void => {
    try {
      contentOf(entries as LogEntry[]);
    } catch (thrown) {
      throw new ImportRefusal(`the entries make no sense together: ${describeThrown(thrown)}`);
    }
  };
  try {
    const entries = await Promise.race([failing, importJournal({ lines, directory, startedAt, judge })]);
    process.stdout.write(`${entries} entries are now in ${journalFile(directory)}.\n`);
    return 0;
  } catch (thrown) {
    return complain(
      thrown instanceof ImportRefusal && file !== null ? `${file}: ${thrown.message}` : describeThrown(thrown),
    );
  }
}

function complain(line: string): number {
  process.stderr.write(`evenkeel: ${line}\n`);
  return 1;
}
