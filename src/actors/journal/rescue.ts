import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { JournalStore } from "./store.ts";

/**
 * Puts a journal whose file has been removed back where it was: an open file lives on without its name, so the
 * connection still sees everything that was ever committed. Does nothing where a file of that name is there, which may
 * be another one. Throws what the disk says.
 */
export function rescue(store: JournalStore): boolean {
  if (existsSync(store.path)) return false;
  const copy = `${store.path}.rescued`;
  rmSync(copy, { force: true });
  store.copyTo(copy);
  syncFile(copy);
  // Those of the lost file would be taken for the new one's.
  for (const ending of ["-wal", "-shm"]) rmSync(store.path + ending, { force: true });
  renameSync(copy, store.path);
  syncFile(dirname(store.path));
  return true;
}

/** Waits until a file, or the names in a directory, are on the disk (fsync(2)). */
export function syncFile(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
