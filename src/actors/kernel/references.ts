/** The actors that one actor may speak to, as it is given them when it is spawned. */
import type { Lane, Message } from "./message.ts";
import type { ActorError, Outcome } from "./outcome.ts";
import type { AskOptions, Reference, Replies } from "./reference.ts";

/** Any actor's reference, as the kernel passes it on. What it understands is between the two actors. */
export interface AnyReference {
  readonly name: string;
  readonly mailboxCapacity: number;
  tell(message: never, lane?: Lane): ActorError | null;
  ask(message: never, options: AskOptions): Promise<Outcome<unknown>>;
  askThen(message: never, options: AskOptions, onOutcome: (outcome: Outcome<unknown>) => void): void;
  /** Told, where it is there, that whoever asked this from another thread has ended, or given up, before the outcome. */
  undelivered?(message: never, outcome: Outcome<unknown>): void;
}

/** By the names that the one who speaks to them knows them under. */
export type References = Readonly<Record<string, AnyReference>>;

type Speech = "tell" | "ask" | "askThen";

/** What one actor does with another. */
export type Speaking<M extends Message, R extends Replies> = Pick<Reference<M, R>, Speech>;

/** The one of that name. Throws when there is none. */
export function referenceTo<M extends Message, R extends Replies>(
  references: Readonly<Record<string, Pick<AnyReference, Speech>>>,
  name: string,
): Speaking<M, R> {
  const reference = references[name];
  if (reference === undefined) throw new Error(`it was given no actor "${name}" to speak to`);
  // What it understands is between whoever spawns the actor and the actor's module, like the type of its `init`.
  return reference as unknown as Speaking<M, R>;
}
