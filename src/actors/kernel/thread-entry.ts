/**
 * What runs in a worker thread: it makes actors from their modules and hands them messages, one after the other, as
 * the main thread posts them. Piscina runs the default export once per thread; it ends when the thread is told to.
 */
import type { MessagePort } from "node:worker_threads";
import * as Comlink from "comlink";
import { systemClock } from "../../ports/clock.ts";
import { systemRandom } from "../../ports/random.ts";
import type { Actor, ActorModule, Lane, LogLevel, Message } from "./actor.ts";
import { handle } from "./local-host.ts";
import { describeThrown } from "./outcome.ts";

/** What a worker sends on its own account, for one of its actors. Plain data. */
export type ThreadReport =
  | { readonly kind: "answer"; readonly question: number; readonly value: unknown }
  | { readonly kind: "post"; readonly actor: string; readonly message: Message }
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
}

/** The call surface of a thread. Failures are returned as text: a thrown error would lose what it was on the way. */
export interface ThreadSurface {
  connect(sink: ThreadSink): void;
  /** Null, or why the actor could not be made. */
  start(request: StartRequest): Promise<string | null>;
  /** Null when handled, or what the handler threw. `question` is null for a message that was told. */
  post(actor: string, message: Message, question: number | null): string | null;
  handover(actor: string): unknown;
  stop(actor: string): void;
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
  let report: ThreadSink = () => undefined;
  let drainSoon: Set<Actor<Message>> | null = null;

  const drainAfterThisTurn = (actor: Actor<Message>): void => {
    if (actor.drained === undefined) return;
    if (drainSoon === null) {
      drainSoon = new Set();
      setImmediate(() => {
        const due = drainSoon ?? [];
        drainSoon = null;
        for (const each of due) each.drained?.();
      });
    }
    drainSoon.add(actor);
  };

  const logAt =
    (actor: string, level: LogLevel) =>
    (fields: object, text: string): void =>
      report({ kind: "log", actor, level, fields, text });

  const stop = (name: string): void => {
    const actor = actors.get(name);
    actors.delete(name);
    actor?.stopped?.();
  };

  return {
    connect(sink) {
      report = sink;
    },
    async start({ actor: name, module, init, inherited }) {
      try {
        const { createActor } = (await import(module)) as ActorModule;
        stop(name);
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
            inherited,
          }),
        );
        return null;
      } catch (thrown) {
        return describeThrown(thrown);
      }
    },
    post(name, message, question) {
      const actor = actors.get(name) ?? null;
      const failure = handle(actor, {
        message,
        answer: question === null ? null : (value) => report({ kind: "answer", question, value }),
        fail: null,
      });
      if (actor !== null) drainAfterThisTurn(actor);
      return failure;
    },
    handover: (name) => actors.get(name)?.handover?.(),
    stop,
    end() {
      for (const name of [...actors.keys()]) stop(name);
      ended();
    },
  };
}
