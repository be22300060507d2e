import { statfsSync } from "node:fs";
import { outcomeOfError } from "./kernel-file.ts";
import { failed, found, type Outcome } from "./outcome.ts";

/** A filesystem's counts from one call. Source: statvfs(3). */
export interface FilesystemCounts {
  /** All blocks, in fragments. */
  readonly blocks: bigint;
  /** Blocks that are free to unprivileged users, in fragments. */
  readonly availableBlocks: bigint;
  readonly fragmentBytes: bigint;
}

export type Statfs = (path: string) => Outcome<FilesystemCounts>;

/**
 * Calls statfs, which blocks for as long as the filesystem does. A path that does not exist is `failed`: the filestore is
 * configured, so its absence is never how the host is meant to be.
 */
export const systemStatfs: Statfs = (path) => {
  try {
    const { blocks, bavail, frsize, bsize } = statfsSync(path, { bigint: true });
    return found({
      // Node reads the kernel's unsigned words as signed ones.
      blocks: BigInt.asUintN(64, blocks),
      availableBlocks: BigInt.asUintN(64, bavail),
      // Some filesystems leave the fragment size 0, and early releases of Node 24 have no such property.
      fragmentBytes: BigInt.asUintN(64, frsize || bsize),
    });
  } catch (error) {
    return failed(outcomeOfError(error).why);
  }
};
