import { closeSync, constants, openSync, readSync } from "node:fs";
import { basename } from "node:path";
import { failed, found, type Missing, none, type Outcome } from "./outcome.ts";

export interface KernelFile {
  readonly path: string;
  /** The most bytes that are read. A longer file fails, unless `isHeadEnough`. */
  readonly bytesMax: number;
  /** Whether every kernel that we run on has this file, so that its absence is a failure. */
  readonly mustExist?: boolean;
  /** Whether the file's whole first lines suffice where it is longer than `bytesMax`. */
  readonly isHeadEnough?: boolean;
}

/** A cap for files that hold one value or a few short lines; the kernel itself fills one page at most. */
export const VALUE_BYTES_MAX = 16 * 1024;

// Without O_NONBLOCK, opening a FIFO that stands in place of a kernel file would block the thread until someone writes.
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

// Holds a whole read of nearly every kernel file. A longer one gets a buffer of its own for that read alone, so that one
// long mountinfo does not raise a thread's memory for good. Nothing in it outlives a call.
const scratch = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Reads a file of procfs, sysfs or cgroupfs from its beginning to its end: no stat (its size would be 0), no blocking, no
 * more than `bytesMax`.
 *
 * A file that does not exist, or whose cgroup is removed while it is open (ENODEV), is `none` unless it must exist; every
 * other error of the system is `failed`.
 */
export function readKernelFile(file: KernelFile): Outcome<string> {
  try {
    const descriptor = openSync(file.path, OPEN_FLAGS);
    try {
      return readToEnd(descriptor, file);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const outcome = outcomeOfError(error);
    return file.mustExist === true ? failed(outcome.why) : outcome;
  }
}

/** {@link readKernelFile}, then `parse` on what it holds. Where that gives nothing, the `why` begins with the file's name. */
export function readAndParse<T>(file: KernelFile, parse: (text: string) => Outcome<T>): Outcome<T> {
  const text = readKernelFile(file);
  const outcome = text.kind === "found" ? parse(text.value) : text;
  return outcome.kind === "found" ? outcome : { kind: outcome.kind, why: `${basename(file.path)}: ${outcome.why}` };
}

function readToEnd(descriptor: number, file: KernelFile): Outcome<string> {
  let buffer = scratch;
  let length = 0;
  for (;;) {
    // One byte more than allowed tells a file that is exactly as long as the cap from one that is longer.
    const room = Math.min(buffer.length, file.bytesMax + 1) - length;
    const count = readSync(descriptor, buffer, length, room, null);
    if (count === 0) return found(buffer.toString("utf8", 0, length));
    length += count;
    if (length > file.bytesMax) return cutOff(buffer, file);
    if (length === buffer.length) {
      const larger = Buffer.allocUnsafeSlow(buffer.length * 4);
      buffer.copy(larger, 0, 0, length);
      buffer = larger;
    }
  }
}

function cutOff(buffer: Buffer, file: KernelFile): Outcome<string> {
  if (file.isHeadEnough !== true) return failed(`longer than ${file.bytesMax} bytes`);
  const head = buffer.toString("utf8", 0, file.bytesMax);
  return found(head.slice(0, head.lastIndexOf("\n") + 1));
}

/** An error of the operating system as an outcome; anything else is a bug and is thrown again. */
export function outcomeOfError(error: unknown): Missing {
  if (!isSystemError(error)) throw error;
  if (error.code === "ENOENT" || error.code === "ENODEV") return none(`${error.syscall} ${error.code}`);
  return failed(`${error.syscall} ${error.code}`);
}

function isSystemError(error: unknown): error is Error & { code: string; syscall: string } {
  return (
    error instanceof Error &&
    "code" in error &&
    typeof error.code === "string" &&
    "syscall" in error &&
    typeof error.syscall === "string"
  );
}
