/**
 * One process per state directory. The lock is SQLite's own on an empty database beside the journal: the kernel lets go
 * of it with the process, however that ends, and it holds across containers that share the directory.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isBusy } from "./damage.ts";

export interface StateLock {
  release(): void;
}

/** Null when another process holds the directory. */
export function lockState(directory: string, startedAt: string): StateLock | null {
  const database = new DatabaseSync(join(directory, "lock.sqlite"), { timeout: 0 });
  try {
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    const holder = { pid: process.pid, host: hostname(), started_at: startedAt };
    writeFileSync(holderFile(directory), `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  } catch (thrown) {
    database.close();
    if (isBusy(thrown)) return null;
    throw thrown;
  }
  return { release: () => database.close() };
}

/** Who holds the directory, in words. */
export function describeHolder(directory: string): string {
  try {
    const { pid, host, started_at } = JSON.parse(readFileSync(holderFile(directory), "utf8")) as Record<
      string,
      unknown
    >;
    return `process ${pid} on ${host}, since ${started_at}`;
  } catch {
    return "another process";
  }
}

const holderFile = (directory: string): string => join(directory, "holder.json");
