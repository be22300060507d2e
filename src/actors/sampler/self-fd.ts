import { opendirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import type { KernelRoots } from "../../ports/kernel-roots.ts";
import { outcomeOfError } from "./kernel-file.ts";
import { failed, found, type Outcome } from "./outcome.ts";

// The kernel's default fs.nr_open, which no process passes unless an operator raises it. It bounds the time of a listing.
const DESCRIPTORS_MAX = 1024 * 1024;

// Entries fetched from the kernel at a time; the daemon seldom has more.
const ENTRIES_AT_A_TIME = 128;

// PROC_SUPER_MAGIC, include/uapi/linux/magic.h.
const PROCFS = 0x9fa0;

export const selfFdPath = (roots: KernelRoots): string => join(roots.proc, "self/fd");

/** How many descriptors the daemon's process has open, the one that lists them not counted. */
export function readOpenDescriptors(roots: KernelRoots): Outcome<bigint> {
  const path = selfFdPath(roots);
  try {
    const listed = countDescriptors(path);
    if (listed > DESCRIPTORS_MAX) return failed(`more than ${DESCRIPTORS_MAX} descriptors`);
    // A real procfs lists the very descriptor that lists it; a fixture's plain directory does not.
    const isProcfs = statfsSync(path).type === PROCFS;
    return found(BigInt(isProcfs ? listed - 1 : listed));
  } catch (error) {
    return failed(outcomeOfError(error).why);
  }
}

function countDescriptors(path: string): number {
  const directory = opendirSync(path, { bufferSize: ENTRIES_AT_A_TIME });
  try {
    let count = 0;
    for (let entry = directory.readSync(); entry !== null && count <= DESCRIPTORS_MAX; entry = directory.readSync()) {
      if (/^[0-9]+$/.test(entry.name)) count++;
    }
    return count;
  } finally {
    directory.closeSync();
  }
}
