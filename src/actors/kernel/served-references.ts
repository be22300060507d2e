/** The main thread's end of the references that a worker thread holds. */
import type { MessagePort } from "node:worker_threads";
import { describeThrown } from "../../messages/thrown.ts";
import type { Refusal } from "./cell.ts";
import type { FromWorker, Posted, Settled } from "./far-protocol.ts";
import type { References } from "./references.ts";

export interface ServingOptions {
  /** The other thread has ended, where that is known before the port closes. */
  isGone(): boolean;
  /** The other thread has refused messages. */
  onRefused(refusal: Refusal): void;
}

/**
 * Hands what comes by the port to the actors, and back what they answer. Whether a mailbox is full and how long an
 * answer may take is decided here, by the references themselves, as for an asker of this thread. When the other thread
 * ends, the port closes, and what is answered later is undelivered. Answers that were on their way then are lost: nobody
 * can tell whether they were used.
 */
export function serveReferences(port: MessagePort, references: References, options: ServingOptions): void {
  let settled: Settled[] = [];
  let closed = false;

  const flush = (): void => {
    const batch = settled;
    settled = [];
    postSettled(port, batch);
  };

  const settle = (each: Settled): void => {
    // By the next tick all has come that one turn of a mailbox answers, or one commit. Only what is known here at once,
    // such as that a message was queued, goes ahead of the answers to its batch: its tick comes before they do.
    if (settled.length === 0) process.nextTick(flush);
    settled.push(each);
  };

  port.on("close", () => {
    closed = true;
  });
  const pass = ([number, to, message, lane, deadlineMs]: Posted): void => {
    const reference = references[to];
    if (reference === undefined) {
      const error = { code: "actor_dead", message: `no actor is known here as ${to}` } as const;
      settle([number, { ok: false, error }]);
    } else if (deadlineMs === null) {
      const error = reference.tell(message as never, lane);
      settle([number, error === null ? { ok: true, value: null } : { ok: false, error }]);
    } else {
      // Later than its own deadline here, it is later than that of whoever asked.
      const onLate = (value: unknown): void => reference.undelivered?.(message as never, { ok: true, value });
      reference.askThen(message as never, { deadlineMs, lane, onLate }, (outcome) => {
        if (closed || options.isGone()) reference.undelivered?.(message as never, outcome);
        else settle([number, outcome]);
      });
    }
  };
  port.on("message", (from: FromWorker) => {
    if ("posted" in from) {
      for (const posted of from.posted) pass(posted);
      return;
    }
    for (const [to, type, count] of from.refused) {
      options.onRefused({ actor: references[to]?.name ?? to, type, count });
    }
  });
}

/** One answer that is not plain data must not keep back those of the same batch. */
function postSettled(port: MessagePort, batch: readonly Settled[]): void {
  try {
    port.postMessage(batch);
  } catch (thrown) {
    const [first, ...others] = batch;
    if (first === undefined) return;
    if (others.length > 0) {
      for (const each of batch) postSettled(port, [each]);
      return;
    }
    const error = { code: "failed", message: `its answer cannot cross threads: ${describeThrown(thrown)}` } as const;
    port.postMessage([[first[0], { ok: false, error }]] satisfies Settled[]);
  }
}
