/** References, in a worker thread, to actors of the main thread. */
import type { MessagePort } from "node:worker_threads";
import { describeThrown } from "../../messages/thrown.ts";
import type { Clock } from "../../ports/clock.ts";
import { type Deadline, Deadlines } from "./deadlines.ts";
import { Deliveries } from "./deliveries.ts";
import type { Addressee, FromWorker, Posted, Refused, Settled } from "./far-protocol.ts";
import type { Lane, Message } from "./message.ts";
import type { ActorError, Outcome } from "./outcome.ts";
import { type AskThen, lateness, promising, refusal } from "./reference.ts";
import type { Speaking } from "./references.ts";
import { UnderWay } from "./under-way.ts";

/** What goes to one actor, and what there was no room for. */
interface Way {
  readonly name: string;
  readonly underWayMax: number;
  /** Messages that are gathered, on the port, in the actor's mailbox, or wait for their answer. */
  readonly counts: Record<Lane, number>;
  /** How many of each type were refused here, and have not been reported. */
  readonly refused: Map<Message["type"], number>;
}

/** Something posted that has not come back. */
interface Entry {
  readonly way: Way;
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
  /** One whose deadline has passed stays until it comes back, since it still takes up room. */
  readonly #underWay = new UnderWay<Entry>();
  readonly #ways: Way[] = [];
  #gathered: Posted[] = [];
  #closed = false;

  constructor(port: MessagePort, clock: Clock) {
    this.#port = port;
    this.#deadlines = new Deadlines(clock);
    port.on("message", (batch: readonly Settled[]) => {
      for (const [number, outcome] of batch) this.#settle(this.#underWay.take(number), outcome as Outcome<never>);
      this.#reportRefused();
    });
    port.on("close", () => this.#onClosed());
  }

  /** To one of the actors that this life was given; to be made once for each. */
  reference({ name, underWayMax }: Addressee): Speaking<Message, Record<string, unknown>> {
    const way: Way = { name, underWayMax, counts: { urgent: 0, normal: 0 }, refused: new Map() };
    this.#ways.push(way);
    const askThen: AskThen<Message> = (message, { deadlineMs, lane = "normal", onLate }, onOutcome) => {
      let settled = false;
      const settle = (outcome: Outcome<never>): void => {
        if (settled) {
          if (outcome.ok && onLate !== undefined) this.#deliveries.add({ deliver: () => onLate(outcome.value) });
          return;
        }
        settled = true;
        this.#deliveries.add({ deliver: () => onOutcome(outcome) });
      };
      const deadline = this.#deadlines.set(deadlineMs, () => {
        settle({ ok: false, error: lateness(name, message, deadlineMs) });
      });
      const refused = this.#post({ way, message, lane, question: { deadline, settle } }, deadlineMs);
      if (refused === null) return;
      this.#deadlines.cancel(deadline);
      settle({ ok: false, error: refused });
    };
    return {
      tell: (message, lane = "normal") => this.#post({ way, message, lane, question: null }, null),
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
    const { way, message, lane } = entry;
    const { name, counts, refused } = way;
    if (this.#closed) return refusal(name, message, "actor_dead");
    if (counts[lane] >= way.underWayMax) {
      refused.set(message.type, (refused.get(message.type) ?? 0) + 1);
      return refusal(name, message, "mailbox_full");
    }
    counts[lane]++;
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
      this.#port.postMessage({ posted: batch } satisfies FromWorker);
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
    entry.way.counts[entry.lane]--;
    if (entry.question === null) return;
    this.#deadlines.cancel(entry.question.deadline);
    entry.question.settle(outcome);
  }

  /** Where something was refused something is under way: it is reported with what comes back, and never adds to a full port. */
  #reportRefused(): void {
    const refused = this.#ways.flatMap((way) =>
      [...way.refused].map(([type, count]): Refused => [way.name, type, count]),
    );
    if (refused.length === 0) return;
    for (const way of this.#ways) way.refused.clear();
    this.#port.postMessage({ refused } satisfies FromWorker);
  }

  #onClosed(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const entry of this.#underWay.takeAll()) {
      const text = `${entry.way.name} could not handle "${entry.message.type}": its thread has let go of this one`;
      this.#settle(entry, { ok: false, error: { code: "actor_dead", message: text } });
    }
  }
}
