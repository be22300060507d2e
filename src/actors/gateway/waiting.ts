/**
 * How long somebody waits for a node: until the client leaves, the gateway stops, or a deadline passes.
 *
 * Signals are tied together by hand. `AbortSignal.any` holds them by weak references, which V8 takes for strong ones
 * whenever it collects only what is young: most of every request would live on until the whole heap is collected.
 */
import type { FastifyReply } from "fastify";
import type { Clock } from "../../ports/clock.ts";
import { UnderWay } from "../kernel/under-way.ts";
import type { LostWhy } from "./outcome.ts";

export interface Waiting {
  /** Aborted with a `LostWhy`. */
  readonly signal: AbortSignal;
}

/** The end of the gateway, for all who wait: they are told once it begins. */
export class Shutdown {
  readonly #waits = new UnderWay<AbortController>();
  #begun = false;

  begin(): void {
    this.#begun = true;
    for (const wait of this.#waits) wait.abort("shutdown" satisfies LostWhy);
  }

  /** While the client is there and the gateway may run on. */
  waitForClient({ raw }: FastifyReply): Waiting {
    const wait = new AbortController();
    if (raw.destroyed || raw.closed) {
      // Its end may have been told already, so that nothing would ever let go of it here.
      wait.abort("client_gone" satisfies LostWhy);
      return { signal: wait.signal };
    }
    if (this.#begun) wait.abort("shutdown" satisfies LostWhy);
    const number = this.#waits.add(wait);
    raw.once("close", () => {
      this.#waits.take(number);
      if (!raw.writableFinished) wait.abort("client_gone" satisfies LostWhy);
    });
    return { signal: wait.signal };
  }
}

export interface Deadline extends Waiting {
  /** From here on only the client and the gateway's stop end the wait. */
  lift(): void;
}

/** The same, and at most `withinMs`. `waiting` must be of one request: it knows of the deadline for as long as it lives. */
export function waitAtMost({ signal }: Waiting, withinMs: number, clock: Clock): Deadline {
  const end = new AbortController();
  if (signal.aborted) end.abort(signal.reason);
  else signal.addEventListener("abort", () => end.abort(signal.reason), { once: true });
  const timer = clock.after(withinMs, () => end.abort("timeout" satisfies LostWhy));
  return { signal: end.signal, lift: () => timer.cancel() };
}
