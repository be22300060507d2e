/**
 * How a question to an actor ends. Refusals and failures are values, because the caller can act on them and because
 * errors lose their class when they cross a thread.
 */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: ActorError };

/**
 * - `mailbox_full`: refused before it was queued; nothing was changed.
 * - `actor_dead`: the actor has stopped, is between two lives, or its thread is gone; a question already handed over may have been handled.
 * - `deadline`: no answer in time; it may still be handled.
 * - `failed`: the handler threw; the message is not tried again.
 */
export type ActorErrorCode = "mailbox_full" | "actor_dead" | "deadline" | "failed";

/** Plain data; `message` is one line that names the actor. */
export interface ActorError {
  readonly code: ActorErrorCode;
  readonly message: string;
}
