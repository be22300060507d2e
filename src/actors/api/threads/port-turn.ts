/** Who may look whether a port is free, and then listen on it. */
import { createServer, type Server } from "node:net";
import type { Clock } from "../../../ports/clock.ts";
import { pause } from "../../../ports/pause.ts";

const RETRY_MS = 50;
/** Longer than the threads of another process may take to load and to listen. */
const PATIENCE_MS = 40_000;

/**
 * Runs `run` while no other scheduler of this machine does the same for this port: sockets that share a port do not
 * refuse each other, so that of two that look at once both would find it free and serve a part of the connections each.
 *
 * The turn is a name in Linux's abstract namespace of Unix sockets (unix(7)), which goes with the process that holds it,
 * however that ends; network namespaces part names and ports alike. Elsewhere there are no such names, and `run` just
 * runs. Rejects with `EADDRINUSE` when the turn does not come.
 */
export async function inPortTurn<T>(port: number, clock: Clock, run: () => Promise<T>): Promise<T> {
  if (process.platform !== "linux") return run();
  const turn = await takeTurn(`\0evenkeel/listen/${port}`, clock);
  try {
    return await run();
  } finally {
    turn.close();
  }
}

async function takeTurn(path: string, clock: Clock): Promise<Server> {
  const untilMs = clock.monotonicMs() + PATIENCE_MS;
  for (;;) {
    const server = createServer((connection) => connection.destroy());
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen({ path }, resolve);
      });
      return server;
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== "EADDRINUSE" || clock.monotonicMs() > untilMs) throw thrown;
      await pause(clock, RETRY_MS);
    }
  }
}
