import type { Logger } from "pino";
import type { ActorSystem } from "../actors/kernel/system.ts";

/** The first SIGTERM or SIGINT, or the end of the terminal. Asked for early, so that a signal during the start is not missed. */
export function untilStopped(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(signal, () => resolve(signal));
  });
}

export interface Leaving {
  readonly system: ActorSystem;
  readonly log: Logger;
  readonly code: number;
  /** How long threads may take to end. */
  readonly deadlineMs: number;
}

/**
 * Stops every actor and thread. Where a thread sits in a system call, Node's own exit would wait for it for ever:
 * the process then becomes another program, for which the kernel ends the old threads, and that one exits with the
 * code.
 */
export async function leave({ system, log, code, deadlineMs }: Leaving): Promise<number> {
  const stuck = await system.stop(deadlineMs);
  if (stuck.length === 0) return code;
  log.warn(
    { threads: stuck },
    `leaving while ${stuck.join(", ")} sits in a system call; should this process stay, the kernel lets nobody interrupt that call`,
  );
  process.execve?.(process.execPath, [process.execPath, "-e", `process.exit(${code})`], {});
  return code; // not reached on Linux
}
