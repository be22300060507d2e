import type { Clock } from "../../ports/clock.ts";
import { Deadline, Deadlines } from "./deadlines.ts";
import { Deliveries, type Delivery } from "./deliveries.ts";
import type { Envelope } from "./mailbox.ts";
import type { Lane, Message } from "./message.ts";
import type { ActorError, ActorErrorCode, Outcome } from "./outcome.ts";

/** The answer type of each message type that can be asked. */
export type Replies = Record<string, unknown>;

export interface AskOptions {
  /** Within how many milliseconds the answer must come. Every question has a deadline. */
  readonly deadlineMs: number;
  readonly lane?: Lane;
  /**
   * Given the answer when it comes after its deadline (or after the actor was given up), for those who must undo what nobody waits for any more. Called once
   * at most, after the outcome; like that it should not throw.
   */
  readonly onLate?: (answer: unknown) => void;
}

/**
 * The address of an actor: the only way in. It stays valid when the actor is restarted or moved to another thread.
 * `M` is what the actor understands, `R` what it answers to each message type that can be asked.
 */
export interface Reference<M extends Message, R extends Replies = Record<never, never>> {
  readonly name: string;
  /** How many messages may wait for the actor, in each lane. */
  readonly mailboxCapacity: number;
  /** Queues a message; null when it was queued, else why not (a full mailbox, a dead actor). */
  tell(message: M, lane?: Lane): ActorError | null;
  /** Queues a question; never rejects. */
  ask<T extends M["type"] & keyof R>(
    message: Extract<M, { readonly type: T }>,
    options: AskOptions,
  ): Promise<Outcome<R[T]>>;
  /**
   * Asks without making a promise of it, for those who ask thousands of times a second. `onOutcome` is called once, never
   * before this has returned. It should not throw: what it throws keeps nothing from others who ask, and then ends the
   * thread that it runs in, which for the main thread is the program.
   */
  askThen<T extends M["type"] & keyof R>(
    message: Extract<M, { readonly type: T }>,
    options: AskOptions,
    onOutcome: (outcome: Outcome<R[T]>) => void,
  ): void;
}

/** Where a reference puts its envelopes; the cell behind it. Null when queued. */
export type Post = (envelope: Envelope, lane: Lane) => ActorErrorCode | null;

export interface ReferenceOptions {
  readonly name: string;
  readonly mailboxCapacity: number;
  readonly clock: Clock;
  readonly post: Post;
}

export function createReference<M extends Message, R extends Replies>(options: ReferenceOptions): Reference<M, R> {
  const { name, mailboxCapacity, clock, post } = options;
  const deadlines = new Deadlines(clock);
  const deliveries = new Deliveries();
  const askThen: AskThen<M> = (message, { deadlineMs, lane = "normal", onLate = null }, onOutcome) => {
    const question = new Question({ name, message, deadlineMs, onOutcome, onLate, deadlines, deliveries });
    const refused = post(question, lane);
    if (refused !== null) question.settle({ ok: false, error: refusal(name, message, refused) });
  };
  return {
    name,
    mailboxCapacity,
    tell(message, lane = "normal") {
      const refused = post({ message, answer: null, fail: null }, lane);
      return refused === null ? null : refusal(name, message, refused);
    },
    askThen,
    ask: promising(askThen),
  };
}

/** `askThen` as those have it who carry messages and answers, whatever they are. */
export type AskThen<M extends Message> = (message: M, options: AskOptions, onOutcome: OnOutcome) => void;

/** The `ask` of a reference that asks by this. */
export function promising<M extends Message>(
  askThen: AskThen<M>,
): (message: M, options: AskOptions) => Promise<Outcome<never>> {
  return (message, options) => new Promise((resolve) => askThen(message, options, resolve));
}

type OnOutcome = (outcome: Outcome<never>) => void;

interface QuestionOptions {
  readonly name: string;
  readonly message: Message;
  readonly deadlineMs: number;
  readonly onOutcome: OnOutcome;
  readonly onLate: ((answer: unknown) => void) | null;
  readonly deadlines: Deadlines;
  readonly deliveries: Deliveries;
}

/** A question under way. One object is its envelope, its deadline and the way of its outcome, as one is made for each call. */
class Question extends Deadline implements Envelope, Delivery {
  readonly #options: QuestionOptions;
  #outcome: Outcome<never> | null = null;

  constructor(options: QuestionOptions) {
    super();
    this.#options = options;
    options.deadlines.add(options.deadlineMs, this);
  }

  get message(): Message {
    return this.#options.message;
  }

  answer(value: unknown): void {
    this.settle({ ok: true, value: value as never });
  }

  fail(code: ActorErrorCode, reason: string): void {
    const { name, message } = this.#options;
    this.settle({ ok: false, error: { code, message: `${name} could not handle "${message.type}": ${reason}` } });
  }

  expire(): void {
    const { name, message, deadlineMs } = this.#options;
    this.settle({ ok: false, error: lateness(name, message, deadlineMs) });
  }

  /** The first of answer, failure and deadline is what comes of it. */
  settle(outcome: Outcome<never>): void {
    if (this.#outcome !== null) {
      if (outcome.ok && !this.#outcome.ok) this.#late(outcome.value);
      return;
    }
    this.#outcome = outcome;
    this.#options.deadlines.cancel(this);
    this.#options.deliveries.add(this);
  }

  /** Whoever asked has been told that there would be none. */
  #late(answer: unknown): void {
    const { onLate, deliveries } = this.#options;
    if (onLate !== null) deliveries.add({ deliver: () => onLate(answer) });
  }

  deliver(): void {
    if (this.#outcome !== null) this.#options.onOutcome(this.#outcome);
  }
}

export function lateness(name: string, message: Message, deadlineMs: number): ActorError {
  return { code: "deadline", message: `${name} did not answer "${message.type}" within ${deadlineMs} ms` };
}

export function refusal(name: string, message: Message, code: ActorErrorCode): ActorError {
  const why = code === "mailbox_full" ? "its mailbox is full" : "it is not running";
  return { code, message: `${name} did not take "${message.type}": ${why}` };
}
