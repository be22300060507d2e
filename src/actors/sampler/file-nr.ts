import { join } from "node:path";
import type { KernelRoots } from "../../ports/kernel-roots.ts";
import { parseUnsigned } from "./integer.ts";
import { readAndParse, VALUE_BYTES_MAX } from "./kernel-file.ts";
import { failed, found, type Outcome, quote } from "./outcome.ts";

/** The system's file handles now. Source: Documentation/admin-guide/sysctl/fs.rst, `file-nr`. */
export interface FileNr {
  readonly allocated: bigint;
  /** Of the allocated ones, those that are not in use; always 0 since Linux 2.6. */
  readonly free: bigint;
  /** The most that can be allocated; 2^63 − 1 by default on newer distributions. */
  readonly maximum: bigint;
}

export const fileNrPath = (roots: KernelRoots): string => join(roots.proc, "sys/fs/file-nr");

export function readFileNr(roots: KernelRoots): Outcome<FileNr> {
  return readAndParse({ path: fileNrPath(roots), bytesMax: VALUE_BYTES_MAX, mustExist: true }, parseFileNr);
}

export function parseFileNr(text: string): Outcome<FileNr> {
  const words = text.trim().split(/\s+/);
  const [allocated, free, maximum] = words.map(parseUnsigned);
  if (words.length !== 3 || allocated == null || free == null || maximum == null) {
    return failed(`not three counts: ${quote(text)}`);
  }
  return found({ allocated, free, maximum });
}
