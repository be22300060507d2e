import { describeThrown } from "../../messages/thrown.ts";

/** The file cannot be used as it is; `message` says what is wrong and where, in one line. */
export class JournalDamage extends Error {}

/** Primary result codes (sqlite.org, "Result and Error Codes"); the extended ones have them in their lowest byte. */
const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

/** What SQLite threw, as `JournalDamage` where it is the file's content that it cannot read. */
export function damageOr(thrown: unknown, path: string): unknown {
  const code = codeOf(thrown);
  if (code !== SQLITE_CORRUPT && code !== SQLITE_NOTADB) return thrown;
  return new JournalDamage(`${path}: ${describeThrown(thrown)}`);
}

/** Another connection has the database. */
export function isBusy(thrown: unknown): boolean {
  return codeOf(thrown) === SQLITE_BUSY;
}

function codeOf(thrown: unknown): number | null {
  const code = (thrown as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : null;
}
