import { statSync } from "node:fs";
import type { Clock, Timer } from "../ports/clock.ts";

/** Soon enough for who rotates a token and waits; a look is one stat per file. */
const LOOK_EVERY_MS = 1_000;

export interface WatchedFiles {
  close(): void;
}

/**
 * Calls `changed` when any of the files is another one than before, or was written. By looking and not by inotify:
 * mounted secrets are exchanged by renaming a link above them, which no watch of the file itself sees.
 */
export function watchFiles(paths: readonly string[], clock: Clock, changed: () => void): WatchedFiles {
  let seen = paths.map(stampOf);
  let timer: Timer;
  const look = (): void => {
    const stamps = paths.map(stampOf);
    if (stamps.some((stamp, index) => stamp !== seen[index])) {
      seen = stamps;
      changed();
    }
    timer = clock.after(LOOK_EVERY_MS, look);
  };
  timer = clock.after(LOOK_EVERY_MS, look);
  return { close: () => timer.cancel() };
}

/** Another one after every write: the time of change (ctime, inode(7)) cannot be set, as that of modification can. */
export function stampOf(path: string): string {
  try {
    const { ino, size, ctimeNs } = statSync(path, { bigint: true });
    return `${ino} ${size} ${ctimeNs}`;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code ?? "unreadable";
  }
}
