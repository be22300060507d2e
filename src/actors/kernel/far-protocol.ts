/**
 * What a worker thread and the main thread say to each other so that actors in the one can ask actors in the other:
 *
 * ```
 *  worker thread                                       main thread
 *  far references ── what one turn has gathered ──▶ served references ──▶ mailboxes
 *                 ◀── what was settled together ───
 * ```
 *
 * A crossing costs the same for one message as for fifty, so each side posts a batch. Everything that is posted comes
 * back exactly once, which is how the worker knows how much is under way.
 */
import type { Lane, Message } from "./actor.ts";
import type { ActorError, Outcome } from "./outcome.ts";
import type { AskOptions, Reference, Replies } from "./reference.ts";

/** Tuples, because structured clone writes the names of an object's fields anew for each object. */
export type Posted = readonly [
  number: number,
  /** The name under which the actor's life was given the reference. */
  to: string,
  message: Message,
  lane: Lane,
  /** Null for a message that is told. */
  deadlineMs: number | null,
];

/** An answer, or why there will be none; for a message that was told, whether it was queued. */
export type Settled = readonly [number: number, outcome: Outcome<unknown>];

/** Any actor's reference, as the kernel passes it on. What it understands is between the two actors. */
export interface AnyReference {
  tell(message: never, lane?: Lane): ActorError | null;
  ask(message: never, options: AskOptions): Promise<Outcome<unknown>>;
  put(message: never, options: AskOptions, take: (outcome: Outcome<unknown>) => void): void;
  /** Told, where it is there, that whoever asked this from another thread has ended before the outcome. */
  undelivered?(message: never, outcome: Outcome<unknown>): void;
}

/** The actors that another one may speak to, by the names it knows them under. */
export type References = Readonly<Record<string, AnyReference>>;

/** What one actor does with another. */
export type Speaking<M extends Message, R extends Replies> = Pick<Reference<M, R>, "tell" | "ask" | "put">;

/** The one of that name. Throws when there is none. */
export function referenceTo<M extends Message, R extends Replies>(
  references: References,
  name: string,
): Speaking<M, R> {
  const reference = references[name];
  if (reference === undefined) throw new Error(`it was given no actor "${name}" to speak to`);
  // What it understands is between whoever spawns the actor and the actor's module, like the type of its `init`.
  return reference as unknown as Speaking<M, R>;
}
