import { join } from "node:path";
import type { KernelRoots } from "../../ports/kernel-roots.ts";
import { parseUnsigned } from "./integer.ts";
import { readAndParse, VALUE_BYTES_MAX } from "./kernel-file.ts";
import { failed, found, none, type Outcome, quote } from "./outcome.ts";

/** The host's memory now. Source: proc(5), `/proc/meminfo`. */
export interface Meminfo {
  /** Usable RAM, in bytes. */
  readonly totalBytes: bigint;
  /**
   * An estimate of what can be allocated without swapping, in bytes; none where the kernel has no such line (before
   * Linux 3.14). Failed by itself: the total is as good as ever. MemFree is no substitute: it leaves out the page cache, which is most of a healthy host's memory.
   */
  readonly availableBytes: Outcome<bigint>;
}

export const meminfoPath = (roots: KernelRoots): string => join(roots.proc, "meminfo");

export function readMeminfo(roots: KernelRoots): Outcome<Meminfo> {
  const file = { path: meminfoPath(roots), bytesMax: VALUE_BYTES_MAX, mustExist: true, isHeadEnough: true };
  return readAndParse(file, parseMeminfo);
}

export function parseMeminfo(text: string): Outcome<Meminfo> {
  const total = memoryLine(text, "MemTotal");
  if (total === null) return failed("no MemTotal line");
  if (total.kind !== "found") return total;
  const availableBytes = memoryLine(text, "MemAvailable") ?? none("no MemAvailable line");
  return found({ totalBytes: total.value, availableBytes });
}

/** The bytes of the line `name:  123 kB` (kB being 1024 bytes); null when there is no such line. */
function memoryLine(text: string, name: string): Outcome<bigint> | null {
  const line = new RegExp(`^${name}:.*$`, "m").exec(text)?.[0];
  if (line === undefined) return null;
  const digits = /^\w+:\s+([0-9]+) kB$/.exec(line)?.[1];
  const kibibytes = digits === undefined ? null : parseUnsigned(digits);
  return kibibytes === null ? failed(`not a meminfo line: ${quote(line)}`) : found(kibibytes * 1024n);
}
