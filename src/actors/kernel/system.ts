import { EventEmitter } from "eventemitter3";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Actor, ActorContext, ActorModule, LocalActor, Log, PortableActor } from "./actor.ts";
import { type Backoff, DEFAULT_BACKOFF } from "./backoff.ts";
import { Cell, type CellState, type KernelEvents, type Refusal } from "./cell.ts";
import type { OnFailure, OpenHost } from "./host.ts";
import { openLocalHost } from "./local-host.ts";
import type { Lane, Message } from "./message.ts";
import { createReference, type Reference, type Replies } from "./reference.ts";
import { type References, referenceTo } from "./references.ts";
import { Thread } from "./thread.ts";

/** The thread that runs the program, as a place for an actor. Every other name is a worker thread's. */
export const MAIN_THREAD = "main";

/**
 * Enough for a burst that an actor works off within tens of milliseconds; more would only turn an overload into long
 * waits, since whoever waits longer has given up.
 */
const DEFAULT_MAILBOX_CAPACITY = 10_000;

export interface SpawnOptions {
  readonly mailboxCapacity?: number;
  readonly onFailure?: OnFailure;
  readonly backoff?: Backoff;
  /** Who gets what the actor posts. */
  readonly outlet?: Pick<Reference<Message>, "tell">;
  /** Whom the actor may speak to, wherever it lives. */
  readonly references?: References;
}

export interface SystemPorts {
  readonly clock: Clock;
  readonly random: Random;
  /** A child logger for each actor. */
  logFor(actor: string): Log;
}

/** The actors of one process: makes, moves, watches and stops them. */
export class ActorSystem {
  /** For metrics and logs only. */
  readonly events = new EventEmitter<KernelEvents>();
  readonly #ports: SystemPorts;
  readonly #cells = new Map<string, Cell>();
  readonly #portables = new Map<string, { portable: PortableActor; options: SpawnOptions }>();
  readonly #threads = new Map<string, Thread>();

  constructor(ports: SystemPorts) {
    this.#ports = ports;
  }

  /** Makes an actor that stays in this thread. Throws when the name is taken. */
  spawnLocal<M extends Message, R extends Replies = Record<never, never>>(
    name: string,
    local: LocalActor<M>,
    options: SpawnOptions = {},
  ): Reference<M, R> {
    return this.#spawn(name, options, (inherited, events) =>
      // The reference only lets `M` in, so the actor never sees another message.
      openLocalHost(() => local.create(this.#context(name, options, inherited)) as Actor<Message>, events),
    );
  }

  /** Makes an actor in the thread of that name, which is started if need be. Throws when the name is taken. */
  spawn<M extends Message, R extends Replies = Record<never, never>>(
    name: string,
    portable: PortableActor,
    { place, ...options }: SpawnOptions & { readonly place: string },
  ): Reference<M, R> {
    const reference = this.#spawn<M, R>(name, options, this.#openAt(name, place, portable, options));
    this.#portables.set(name, { portable, options });
    return reference;
  }

  /**
   * Moves a portable actor to another thread; its reference stays valid and messages sent meanwhile wait. Without
   * `handover` it starts there afresh, which is the only way out of a thread that is stuck.
   */
  async move(name: string, place: string, { handover }: { readonly handover: boolean }): Promise<void> {
    const cell = this.#cells.get(name);
    const known = this.#portables.get(name);
    if (cell === undefined || known === undefined) throw new Error(`no actor named "${name}" that can be moved`);
    await cell.move(this.#openAt(name, place, known.portable, known.options), { place, handover });
  }

  /** What a worker thread is busy with, and who lives there; null for a thread that does not run. */
  thread(place: string): { readonly busyWith: string | null; readonly actors: readonly string[] } | null {
    const thread = this.#threads.get(place);
    return thread?.alive ? thread : null;
  }

  /** Names of the worker threads that run. */
  get threads(): string[] {
    return [...this.#threads.values()].filter((thread) => thread.alive).map((thread) => thread.name);
  }

  /** Ends a worker thread; false when it is still there at the deadline. */
  async endThread(place: string, deadlineMs: number): Promise<boolean> {
    return (await this.#threads.get(place)?.end(deadlineMs)) ?? true;
  }

  /** Stops one actor and forgets its name, which can then be given anew. */
  async stopActor(name: string): Promise<void> {
    const cell = this.#cells.get(name);
    this.#cells.delete(name);
    this.#portables.delete(name);
    await cell?.stop();
  }

  /** How each actor is: for metrics. */
  status(): { actor: string; state: CellState; depth: number }[] {
    return [...this.#cells.values()].map((cell) => ({ actor: cell.name, state: cell.state, depth: cell.depth }));
  }

  /**
   * Stops every actor, last made first, then the threads. Returns the threads that did not end in time, because they
   * sit in a system call that nothing can interrupt.
   */
  async stop(deadlineMs: number): Promise<string[]> {
    const cells = [...this.#cells.values()].reverse();
    const threads = [...this.#threads.values()];
    const stopping = Promise.allSettled(cells.map((cell) => cell.stop()));
    const ended = await Promise.all(threads.map((thread) => thread.end(deadlineMs)));
    // Actors of a thread that did not end cannot be waited for; the others are done by now or within this turn.
    if (ended.every(Boolean)) await stopping;
    return threads.filter((_, position) => ended[position] === false).map((thread) => thread.name);
  }

  #spawn<M extends Message, R extends Replies>(name: string, options: SpawnOptions, open: OpenHost): Reference<M, R> {
    if (this.#cells.has(name)) throw new Error(`an actor named "${name}" exists already`);
    const { mailboxCapacity = DEFAULT_MAILBOX_CAPACITY } = options;
    const cell = new Cell(
      {
        name,
        mailboxCapacity,
        onFailure: options.onFailure ?? "restart",
        backoff: options.backoff ?? DEFAULT_BACKOFF,
        clock: this.#ports.clock,
        events: this.events,
      },
      open,
    );
    this.#cells.set(name, cell);
    return createReference<M, R>({ name, mailboxCapacity, clock: this.#ports.clock, post: cell.post });
  }

  #openAt(name: string, place: string, portable: PortableActor, options: SpawnOptions): OpenHost {
    return (inherited, events) => {
      if (place === MAIN_THREAD) {
        return openLocalHost(async () => {
          const { createActor } = (await import(portable.module)) as ActorModule;
          return createActor(portable.init, this.#context(name, options, inherited));
        }, events);
      }
      const sink = {
        log: this.#ports.logFor(name),
        post: (message: Message) => void options.outlet?.tell(message),
        tellSelf: (message: Message, lane?: Lane) => this.#tell(name, message, lane),
        refused: (refusal: Refusal) => void this.events.emit("refused", refusal),
      };
      const { onFailure = "restart", references = {} } = options;
      return this.#threadAt(place).open({ actor: name, portable, inherited, onFailure, references }, events, sink);
    };
  }

  #threadAt(place: string): Thread {
    const running = this.#threads.get(place);
    if (running?.alive) return running;
    const thread = new Thread(place, this.#ports.clock);
    this.#threads.set(place, thread);
    return thread;
  }

  #context(name: string, options: SpawnOptions, inherited: unknown): ActorContext {
    return {
      name,
      clock: this.#ports.clock,
      random: this.#ports.random,
      log: this.#ports.logFor(name),
      tellSelf: (message, lane) => this.#tell(name, message, lane),
      post: (message) => void options.outlet?.tell(message),
      reference: (to) => referenceTo(options.references ?? {}, to),
      inherited,
    };
  }

  #tell(name: string, message: Message, lane: Lane = "normal"): void {
    this.#cells.get(name)?.post({ message, answer: null, fail: null }, lane);
  }
}
