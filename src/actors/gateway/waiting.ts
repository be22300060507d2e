/** How long somebody waits for a node: until the client leaves, the gateway stops, or a deadline passes. */
import type { FastifyReply } from "fastify";
import type { Clock } from "../../ports/clock.ts";
import type { LostWhy } from "./outcome.ts";

export interface Waiting {
  /** Aborted with a `LostWhy`. */
  readonly signal: AbortSignal;
}

/** While the client is there and the gateway may run on. `shutdown` is aborted with `"shutdown"`. */
export function waitForClient(reply: FastifyReply, shutdown: AbortSignal): Waiting {
  const gone = new AbortController();
  const leave = (): void => gone.abort("client_gone" satisfies LostWhy);
  if (reply.raw.destroyed || reply.raw.closed) leave();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) leave();
  });
  return { signal: AbortSignal.any([gone.signal, shutdown]) };
}

export interface Deadline extends Waiting {
  /** From here on only the client and the gateway's stop end the wait. */
  lift(): void;
}

/** The same, and at most `withinMs`. */
export function waitAtMost(waiting: Waiting, withinMs: number, clock: Clock): Deadline {
  const late = new AbortController();
  const timer = clock.after(withinMs, () => late.abort("timeout" satisfies LostWhy));
  return { signal: AbortSignal.any([waiting.signal, late.signal]), lift: () => timer.cancel() };
}
