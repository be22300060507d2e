/**
 * What runs in a worker thread: it makes actors from their modules and hands them messages, one after the other, as
 * the main thread posts them. Piscina runs the default export once per thread; it ends when the thread is told to.
 */
import type { MessagePort } from "node:worker_threads";
import * as Comlink from "comlink";
import { describeThrown } from "../../messages/thrown.ts";
import { systemClock } from "../../ports/clock.ts";
import { systemRandom } from "../../ports/random.ts";
import type { Actor, ActorModule, LogLevel } from "./actor.ts";
import type { Addressee } from "./far-protocol.ts";
import { FarReferences } from "./far-references.ts";
import type { OnFailure } from "./host.ts";
import { handle } from "./local-host.ts";
import type { Lane, Message } from "./message.ts";
import { referenceTo } from "./references.ts";

/** What a worker sends on its own account, for one of its actors. Plain data. */
export type ThreadReport =
  | { readonly kind: "answer"; readonly question: number; readonly value: unknown }
  | { readonly kind: "post"; readonly actor: string; readonly message: Message }
  | { readonly kind: "drain_failed"; readonly actor: string; readonly reason: string }
  /** All that the thread had reported before is known where this is. */
  | { readonly kind: "stopped"; readonly stop: number }
  | { readonly kind: "self"; readonly actor: string; readonly message: Message; readonly lane: Lane }
  | {
      readonly kind: "log";
      readonly actor: string;
      readonly level: LogLevel;
      readonly fields: object;
      readonly text: string;
    };

export type ThreadSink = (report: ThreadReport) => void;

export interface StartRequest {
  readonly actor: string;
  readonly module: string;
  readonly init: unknown;
  readonly inherited: unknown;
  readonly onFailure: OnFailure;
  /** The actors of the main thread that it may speak to, and the way there; null for none. */
  readonly references: { readonly addressees: readonly Addressee[]; readonly port: MessagePort } | null;
}

/** What became of a posted message that was not handled. */
export interface PostFailure {
  readonly code: "failed" | "actor_dead";
  readonly reason: string;
}

/** The call surface of a thread. Failures are returned as text: a thrown error would lose what it was on the way. */
export interface ThreadSurface {
  connect(sink: ThreadSink): void;
  /** Null, or why the actor could not be made. */
  start(request: StartRequest): Promise<string | null>;
  /** Null when handled. `question` is null for a message that was told. */
  post(actor: string, message: Message, question: number | null): PostFailure | null;
  handover(actor: string): unknown;
  /** Reports `stopped` with the number of this stop: answers are reports too, and the call's own end may overtake them. */
  stop(actor: string, nth: number): void;
  /** Stops every actor and lets the thread end. */
  end(): void;
}

export default function runThread({ port }: { port: MessagePort }): Promise<void> {
  return new Promise((finished) => {
    const surface = createSurface(() => {
      // After the answer to `end` has left; closing at once would drop it.
      setImmediate(() => {
        port.close();
        finished();
      });
    });
    // Comlink types its endpoint as the browser's; Node's port has the three methods that it uses.
    Comlink.expose(surface, port as unknown as Comlink.Endpoint);
  });
}

function createSurface(ended: () => void): ThreadSurface {
  const actors = new Map<string, Actor<Message>>();
  const farReferences = new Map<string, FarReferences>();
  /** Actors that shall end with their first failure. */
  const fragile = new Set<string>();
  /** Counts the starts and stops of each name: a start whose module was still loading must not outlive a stop. */
  const orders = new Map<string, number>();
  let report: ThreadSink = () => undefined;
  let drainSoon: Set<string> | null = null;

  const drain = (name: string): void => {
    try {
      actors.get(name)?.drained?.();
    } catch (thrown) {
      report({ kind: "drain_failed", actor: name, reason: describeThrown(thrown) });
    }
  };

  const drainAfterThisTurn = (name: string): void => {
    if (actors.get(name)?.drained === undefined) return;
    if (drainSoon === null) {
      drainSoon = new Set();
      setImmediate(() => {
        const due = drainSoon ?? [];
        drainSoon = null;
        for (const name of due) drain(name);
      });
    }
    drainSoon.add(name);
  };

  const logAt =
    (actor: string, level: LogLevel) =>
    (fields: object, text: string): void =>
      report({ kind: "log", actor, level, fields, text });

  const order = (name: string): number => {
    const next = (orders.get(name) ?? 0) + 1;
    orders.set(name, next);
    return next;
  };

  const stop = (name: string): void => {
    order(name);
    const actor = actors.get(name);
    actors.delete(name);
    actor?.stopped?.();
    // After it: an actor's last word may be for another one.
    farReferences.get(name)?.close();
    farReferences.delete(name);
  };

  return {
    connect(sink) {
      report = sink;
    },
    async start({ actor: name, module, init, inherited, onFailure, references }) {
      stop(name);
      const mine = order(name);
      let known: Parameters<typeof referenceTo>[0] = {};
      if (references !== null) {
        const far = new FarReferences(references.port, systemClock);
        farReferences.set(name, far);
        known = Object.fromEntries(references.addressees.map((to) => [to.name, far.reference(to)]));
      }
      try {
        const { createActor } = (await import(module)) as ActorModule;
        if (orders.get(name) !== mine) return "it was stopped while it was loading";
        if (onFailure === "restart") fragile.add(name);
        else fragile.delete(name);
        actors.set(
          name,
          createActor(init, {
            name,
            clock: systemClock,
            random: systemRandom,
            log: {
              debug: logAt(name, "debug"),
              info: logAt(name, "info"),
              warn: logAt(name, "warn"),
              error: logAt(name, "error"),
            },
            // By way of the mailbox in the main thread, which bounds and supervises it like every other message.
            tellSelf: (message, lane = "normal") => report({ kind: "self", actor: name, message, lane }),
            post: (message) => report({ kind: "post", actor: name, message }),
            reference: (to) => referenceTo(known, to),
            inherited,
          }),
        );
        return null;
      } catch (thrown) {
        return describeThrown(thrown);
      }
    },
    post(name, message, question) {
      const actor = actors.get(name);
      if (actor === undefined) return { code: "actor_dead", reason: "its life there has ended" };
      const reason = handle(actor, {
        message,
        answer: question === null ? null : (value) => report({ kind: "answer", question, value }),
        fail: null,
      });
      if (reason === null) {
        drainAfterThisTurn(name);
        return null;
      }
      // What was posted behind it must not reach a state that is given up.
      if (fragile.has(name)) stop(name);
      return { code: "failed", reason };
    },
    handover: (name) => actors.get(name)?.handover?.(),
    stop(name, nth) {
      stop(name);
      report({ kind: "stopped", stop: nth });
    },
    end() {
      for (const name of [...actors.keys()]) stop(name);
      ended();
    },
  };
}
