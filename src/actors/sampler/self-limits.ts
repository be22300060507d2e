import { join } from "node:path";
import type { KernelRoots } from "../../ports/kernel-roots.ts";
import { parseUnsigned } from "./integer.ts";
import { readAndParse, VALUE_BYTES_MAX } from "./kernel-file.ts";
import { failed, found, none, type Outcome, quote } from "./outcome.ts";

export const selfLimitsPath = (roots: KernelRoots): string => join(roots.proc, "self/limits");

/** The daemon's own soft limit of open descriptors; `none` where it is unlimited. Source: proc(5), `/proc/pid/limits`. */
export function readOpenFilesLimit(roots: KernelRoots): Outcome<bigint> {
  return readAndParse({ path: selfLimitsPath(roots), bytesMax: VALUE_BYTES_MAX, mustExist: true }, parseOpenFilesLimit);
}

export function parseOpenFilesLimit(text: string): Outcome<bigint> {
  const line = /^Max open files.*$/m.exec(text)?.[0];
  if (line === undefined) return failed("no Max open files line");
  const soft = /^Max open files\s+(\S+)\s+\S+\s+files\s*$/.exec(line)?.[1];
  if (soft === "unlimited") return none("the soft limit is unlimited");
  const limit = soft === undefined ? null : parseUnsigned(soft);
  return limit === null ? failed(`not a limits line: ${quote(line)}`) : found(limit);
}
