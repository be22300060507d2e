import type { Envelope } from "./mailbox.ts";

/** What a host tells the cell in front of it. Each may come at any time after `open`, also before `open` returns. */
export interface HostEvents {
  /** The actor exists and takes messages. */
  started(): void;
  /** One delivered message has been handled; `failure` says what the handler threw, null when it did not. */
  handled(failure: string | null): void;
  /** `drained` threw. */
  drainFailed(reason: string): void;
  /** The actor cannot go on where it is: it could not be made, or its thread is gone. Nothing follows this. */
  died(reason: string): void;
}

/** Where an actor lives: in this thread, or in a worker. One host is one life. */
export interface Host {
  /** How many messages may be handed over before the first of them is reported as handled. */
  readonly window: number;
  /** Hands one message over. Answers go through the envelope; completion goes to `handled`. */
  deliver(envelope: Envelope): void;
  /** This turn's messages have been delivered. */
  drained(): void;
  /** The state for the next life, after everything delivered so far has been handled; undefined when it has none. */
  handover(): Promise<unknown>;
  /** Ends this life. Resolves when the actor has let go of what it held. */
  stop(): Promise<void>;
}

/** Starts a life. `inherited` is what the previous one handed over. */
export type OpenHost = (inherited: unknown, events: HostEvents) => Host;

/**
 * What becomes of an actor whose handler threw: `restart` ends that life, and nothing reaches it any more; `resume` goes
 * on with the next message.
 */
export type OnFailure = "restart" | "resume";
