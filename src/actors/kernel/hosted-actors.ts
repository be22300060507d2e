/**
 * The actors of a worker thread: made from their modules, and handed messages one after the other, as the main thread
 * posts them.
 */
import { describeThrown } from "../../messages/thrown.ts";
import { systemClock } from "../../ports/clock.ts";
import { systemRandom } from "../../ports/random.ts";
import type { Actor, ActorContext, ActorModule, Log, LogLevel } from "./actor.ts";
import { FarReferences } from "./far-references.ts";
import { handle } from "./local-host.ts";
import type { Message } from "./message.ts";
import { referenceTo } from "./references.ts";
import type { PostFailure, StartRequest, ThreadSink, ThreadSurface } from "./thread-protocol.ts";

export class HostedActors implements ThreadSurface {
  readonly #actors = new Map<string, Actor<Message>>();
  readonly #farReferences = new Map<string, FarReferences>();
  /** Actors that shall end with their first failure. */
  readonly #fragile = new Set<string>();
  /** Counts the starts and stops of each name: a start whose module was still loading must not outlive a stop. */
  readonly #orders = new Map<string, number>();
  /** Actors that have handled something in this turn. */
  readonly #undrained = new Set<string>();
  readonly #ended: () => void;
  #report: ThreadSink = () => undefined;

  /** `ended` is called when the thread has been told to end, and every actor is stopped. */
  constructor(ended: () => void) {
    this.#ended = ended;
  }

  connect(sink: ThreadSink): void {
    this.#report = sink;
  }

  async start(request: StartRequest): Promise<string | null> {
    const { actor: name, module, init, onFailure } = request;
    this.#stop(name);
    const order = this.#nextOrder(name);
    const reference = this.#openReferences(request);
    try {
      const { createActor } = (await import(module)) as ActorModule;
      if (this.#orders.get(name) !== order) return "it was stopped while it was loading";
      if (onFailure === "restart") this.#fragile.add(name);
      else this.#fragile.delete(name);
      this.#actors.set(name, createActor(init, this.#contextOf(request, reference)));
      return null;
    } catch (thrown) {
      return describeThrown(thrown);
    }
  }

  post(name: string, message: Message, question: number | null): PostFailure | null {
    const actor = this.#actors.get(name);
    if (actor === undefined) return { code: "actor_dead", reason: "its life there has ended" };
    const reason = handle(actor, {
      message,
      answer: question === null ? null : (value) => this.#report({ kind: "answer", question, value }),
      fail: null,
    });
    if (reason === null) {
      if (actor.drained !== undefined) this.#drainAfterThisTurn(name);
      return null;
    }
    // What was posted behind it must not reach a state that is given up.
    if (this.#fragile.has(name)) this.#stop(name);
    return { code: "failed", reason };
  }

  handover(name: string): unknown {
    return this.#actors.get(name)?.handover?.();
  }

  stop(name: string, nth: number): void {
    this.#stop(name);
    this.#report({ kind: "stopped", stop: nth });
  }

  end(): void {
    for (const name of [...this.#actors.keys()]) this.#stop(name);
    this.#ended();
  }

  #stop(name: string): void {
    this.#nextOrder(name);
    const actor = this.#actors.get(name);
    this.#actors.delete(name);
    actor?.stopped?.();
    // After it: an actor's last word may be for another one.
    this.#farReferences.get(name)?.close();
    this.#farReferences.delete(name);
  }

  #nextOrder(name: string): number {
    const next = (this.#orders.get(name) ?? 0) + 1;
    this.#orders.set(name, next);
    return next;
  }

  #openReferences({ actor: name, references }: StartRequest): ActorContext["reference"] {
    if (references === null) return (to) => referenceTo({}, to);
    const far = new FarReferences(references.port, systemClock);
    this.#farReferences.set(name, far);
    const known = Object.fromEntries(references.addressees.map((to) => [to.name, far.reference(to)]));
    return (to) => referenceTo(known, to);
  }

  #contextOf({ actor: name, inherited }: StartRequest, reference: ActorContext["reference"]): ActorContext {
    return {
      name,
      clock: systemClock,
      random: systemRandom,
      log: this.#logOf(name),
      // By way of the mailbox in the main thread, which bounds and supervises it like every other message.
      tellSelf: (message, lane = "normal") => this.#report({ kind: "self", actor: name, message, lane }),
      post: (message) => this.#report({ kind: "post", actor: name, message }),
      reference,
      inherited,
    };
  }

  #logOf(actor: string): Log {
    const at =
      (level: LogLevel) =>
      (fields: object, text: string): void =>
        this.#report({ kind: "log", actor, level, fields, text });
    return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  }

  #drainAfterThisTurn(name: string): void {
    if (this.#undrained.size === 0) setImmediate(() => this.#drain());
    this.#undrained.add(name);
  }

  #drain(): void {
    const due = [...this.#undrained];
    this.#undrained.clear();
    for (const name of due) {
      try {
        this.#actors.get(name)?.drained?.();
      } catch (thrown) {
        this.#report({ kind: "drain_failed", actor: name, reason: describeThrown(thrown) });
      }
    }
  }
}
