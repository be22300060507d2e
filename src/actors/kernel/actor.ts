import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Lane, Message } from "./message.ts";
import type { Replies } from "./reference.ts";
import type { Speaking } from "./references.ts";

/**
 * Gives the asker its answer; at most once, later calls do nothing. The handler may keep it and answer after it has
 * returned, which is how an answer waits for a commit. For a message that was told, it does nothing.
 */
export type Answer = (value: unknown) => void;

/**
 * One owner of one state. Methods are called one at a time, never re-entered. A handler is synchronous: slow work is
 * started from it, and its result comes back as another message.
 */
export interface Actor<M extends Message> {
  receive(message: M, answer: Answer): void;
  /** The mailbox has been emptied, or this turn's share of it was handled: the place to commit what was decided. */
  drained?(): void;
  /** The state as plain data, for the same actor's next life in another thread. Without it, it starts afresh there. */
  handover?(): unknown;
  /** The last call. Releases what the actor holds: sockets, timers, files. */
  stopped?(): void;
}

/** The part of pino that an actor uses; in a worker the lines travel to the main thread as data. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export type LogLevel = keyof Log;

/** What an actor is given when it is made. */
export interface ActorContext {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /**
   * Sends to this very actor: how timers and finished effects come back as messages. In its turn behind what has
   * arrived; `urgent` passes, and is not refused by a mailbox that is full of normal messages.
   */
  tellSelf(message: Message, lane?: Lane): void;
  /** Sends to the actor that was named as the outlet when this one was spawned; dropped when there is none. */
  post(message: Message): void;
  /**
   * An actor that this one was given when it was spawned, by its name there. In another thread what is said to it
   * crosses in batches, one for each turn of the event loop. Throws when it was given none of that name.
   */
  reference<M extends Message, R extends Replies>(name: string): Speaking<M, R>;
  /** What `handover` returned in the previous life, when the actor was moved; else undefined. */
  readonly inherited?: unknown;
}

/**
 * An actor that can live in any thread: a module with a function `createActor(init, context)`, and plain data for it.
 */
export interface PortableActor {
  /** A `file:` URL, as `import.meta.url` or `new URL("./x.ts", import.meta.url).href` give it. */
  readonly module: string;
  readonly init: unknown;
}

/** An actor that holds what cannot cross a thread, such as a listening socket. */
export interface LocalActor<M extends Message> {
  create(context: ActorContext): Actor<M>;
}

/** What the module of a portable actor exports. */
export interface ActorModule {
  createActor(init: unknown, context: ActorContext): Actor<Message>;
}
