/** References, in a worker thread, to actors of the main thread. */
import type { MessagePort } from "node:worker_threads";
import { describeThrown } from "../../messages/thrown.ts";
import type { Clock } from "../../ports/clock.ts";
import { type Deadline, Deadlines } from "./deadlines.ts";
import { Deliveries } from "./deliveries.ts";
import type { Posted, Settled } from "./far-protocol.ts";
import type { Lane, Message } from "./message.ts";
import type { ActorError, Outcome } from "./outcome.ts";
import { type AskThen, lateness, promising, refusal } from "./reference.ts";
import type { Speaking } from "./references.ts";
import { UnderWay } from "./under-way.ts";

/**
 * Messages of one lane that are under way: gathered, on the port, in a mailbox, or waiting for their answer. The
 * mailboxes of the main thread refuse before that; this bounds the port while that thread handles nothing.
 */
const UNDER_WAY_MAX = 20_000;

/** Something posted that has not come back. */
interface Entry {
  readonly name: string;
  readonly message: Message;
  readonly lane: Lane;
  /** Null for a message that was told. */
  readonly question: { readonly deadline: Deadline; readonly settle: (outcome: Outcome<never>) => void } | null;
}

/**
 * The references of one life in a thread, over one port. They behave as references in the main thread do: the same
 * deadlines, lanes and errors. Only whoever tells learns nothing of a full mailbox, which is known in the other thread.
 */
export class FarReferences {
  readonly #port: MessagePort;
  readonly #deadlines: Deadlines;
  readonly #deliveries = new Deliveries();
  readonly #underWayMax: number;
  /** One whose deadline has passed stays until it comes back, since it still takes up room. */
  readonly #underWay = new UnderWay<Entry>();
  readonly #counts = { urgent: 0, normal: 0 };
  #gathered: Posted[] = [];
  #closed = false;

  constructor(port: MessagePort, clock: Clock, underWayMax = UNDER_WAY_MAX) {
    this.#port = port;
    this.#deadlines = new Deadlines(clock);
    this.#underWayMax = underWayMax;
    port.on("message", (batch: readonly Settled[]) => {
      for (const [number, outcome] of batch) this.#settle(this.#underWay.take(number), outcome as Outcome<never>);
    });
    port.on("close", () => this.#onClosed());
  }

  /** The actor that this life was given under that name. */
  reference(name: string): Speaking<Message, Record<string, unknown>> {
    const askThen: AskThen<Message> = (message, { deadlineMs, lane = "normal" }, onOutcome) => {
      let settled = false;
      // An answer that comes after its deadline finds the question settled.
      const settle = (outcome: Outcome<never>): void => {
        if (settled) return;
        settled = true;
        this.#deliveries.add({ deliver: () => onOutcome(outcome) });
      };
      const deadline = this.#deadlines.set(deadlineMs, () => {
        settle({ ok: false, error: lateness(name, message, deadlineMs) });
      });
      const refused = this.#post({ name, message, lane, question: { deadline, settle } }, deadlineMs);
      if (refused === null) return;
      this.#deadlines.cancel(deadline);
      settle({ ok: false, error: refused });
    };
    return {
      tell: (message, lane = "normal") => this.#post({ name, message, lane, question: null }, null),
      askThen,
      ask: promising(askThen),
    };
  }

  /** Lets go of the main thread: what was told still arrives, and questions under way end as `actor_dead`. */
  close(): void {
    this.#flush();
    this.#port.close();
    this.#onClosed();
  }

  #post(entry: Entry, deadlineMs: number | null): ActorError | null {
    const { name, message, lane } = entry;
    if (this.#closed) return refusal(name, message, "actor_dead");
    if (this.#counts[lane] >= this.#underWayMax) return refusal(name, message, "mailbox_full");
    this.#counts[lane]++;
    const number = this.#underWay.add(entry);
    if (this.#gathered.length === 0) setImmediate(() => this.#flush());
    this.#gathered.push([number, name, message, lane, deadlineMs]);
    return null;
  }

  #flush(): void {
    const batch = this.#gathered;
    this.#gathered = [];
    if (!this.#closed && batch.length > 0) this.#postBatch(batch);
  }

  /** One message that is not plain data must not keep back those of the same batch. */
  #postBatch(batch: readonly Posted[]): void {
    try {
      this.#port.postMessage(batch);
    } catch (thrown) {
      const [first, ...others] = batch;
      if (first === undefined) return;
      if (others.length > 0) {
        for (const each of batch) this.#postBatch([each]);
        return;
      }
      const [number, name, message] = first;
      const text = `${name} could not handle "${message.type}": ${describeThrown(thrown)}`;
      this.#settle(this.#underWay.take(number), { ok: false, error: { code: "failed", message: text } });
    }
  }

  #settle(entry: Entry | null, outcome: Outcome<never>): void {
    if (entry === null) return;
    this.#counts[entry.lane]--;
    if (entry.question === null) return;
    this.#deadlines.cancel(entry.question.deadline);
    entry.question.settle(outcome);
  }

  #onClosed(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const entry of this.#underWay.takeAll()) {
      const text = `${entry.name} could not handle "${entry.message.type}": its thread has let go of this one`;
      this.#settle(entry, { ok: false, error: { code: "actor_dead", message: text } });
    }
  }
}
