import type { Clock } from "../../ports/clock.ts";
import type { Lane, Message } from "./actor.ts";
import { Deadlines } from "./deadlines.ts";
import type { Envelope } from "./mailbox.ts";
import type { ActorError, ActorErrorCode, Outcome } from "./outcome.ts";

/** The answer type of each message type that can be asked. */
export type Replies = Record<string, unknown>;

export interface AskOptions {
  /** Within how many milliseconds the answer must come. Every question has a deadline. */
  readonly deadlineMs: number;
  readonly lane?: Lane;
}

/**
 * The address of an actor: the only way in. It stays valid when the actor is restarted or moved to another thread.
 * `M` is what the actor understands, `R` what it answers to each message type that can be asked.
 */
export interface Reference<M extends Message, R extends Replies = Record<never, never>> {
  readonly name: string;
  /** Queues a message; null when it was queued, else why not (a full mailbox, a dead actor). */
  tell(message: M, lane?: Lane): ActorError | null;
  /** Queues a question; never rejects. */
  ask<T extends M["type"] & keyof R>(
    message: Extract<M, { readonly type: T }>,
    options: AskOptions,
  ): Promise<Outcome<R[T]>>;
}

/** Where a reference puts its envelopes; the cell behind it. Null when queued. */
export type Post = (envelope: Envelope, lane: Lane) => ActorErrorCode | null;

export function createReference<M extends Message, R extends Replies>(
  name: string,
  clock: Clock,
  post: Post,
): Reference<M, R> {
  const deadlines = new Deadlines(clock);
  return {
    name,
    tell(message, lane = "normal") {
      const refused = post({ message, answer: null, fail: null }, lane);
      return refused === null ? null : refusal(name, message, refused);
    },
    ask(message, { deadlineMs, lane = "normal" }) {
      return new Promise((resolve) => {
        // The first of answer, failure and deadline settles the promise; the others find it settled.
        const deadline = deadlines.set(deadlineMs, () => {
          resolve({ ok: false, error: lateness(name, message, deadlineMs) });
        });
        const settle = (outcome: Outcome<never>): void => {
          deadlines.cancel(deadline);
          resolve(outcome);
        };
        const refused = post(
          {
            message,
            answer: (value) => settle({ ok: true, value: value as never }),
            fail: (code, reason) =>
              settle({ ok: false, error: { code, message: `${name} could not handle "${message.type}": ${reason}` } }),
          },
          lane,
        );
        if (refused !== null) settle({ ok: false, error: refusal(name, message, refused) });
      });
    },
  };
}

export function lateness(name: string, message: Message, deadlineMs: number): ActorError {
  return { code: "deadline", message: `${name} did not answer "${message.type}" within ${deadlineMs} ms` };
}

export function refusal(name: string, message: Message, code: ActorErrorCode): ActorError {
  const why = code === "mailbox_full" ? "its mailbox is full" : "it is not running";
  return { code, message: `${name} did not take "${message.type}": ${why}` };
}
