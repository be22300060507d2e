/**
 * One worker thread's clients: each asks for a node, closes the reservation as its intention says, and takes the next
 * request. They keep what they were told, and judge nothing.
 */
import type { Actor, ActorContext, Answer } from "../kernel/actor.ts";
import type { Message } from "../kernel/message.ts";
import { Client } from "./client-life.ts";
import type { Fire, Fired, RequesterInit, RequesterMessage } from "./messages.ts";
import { intentionOf } from "./plan.ts";
import type { ClientRecord, TimedCall } from "./records.ts";
import { SchedulerCalls } from "./scheduler-calls.ts";

/** Requests between two notes of progress: fine enough for a person, and nothing beside what a request costs. */
const PROGRESS_EVERY = 50;

export function createActor(init: unknown, context: ActorContext): Actor<Message> {
  return new Requester(init as RequesterInit, context) as Actor<Message>;
}

class Requester implements Actor<RequesterMessage> {
  readonly #context: ActorContext;
  readonly #calls: SchedulerCalls;
  readonly #durationsMs: Record<TimedCall, number[]> = { schedule: [], confirm: [], cancel: [] };
  readonly #records: ClientRecord[] = [];
  #stopped = false;

  constructor({ scheduler, connections }: RequesterInit, context: ActorContext) {
    this.#context = context;
    this.#calls = new SchedulerCalls(scheduler, connections);
  }

  receive(message: RequesterMessage, answer: Answer): void {
    switch (message.type) {
      case "fire":
        return this.#onFire(message, answer);
      case "stop_firing":
        this.#stopped = true;
        return;
      default:
        message satisfies never;
    }
  }

  stopped(): void {
    this.#stopped = true;
    this.#calls.close();
  }

  #onFire({ plan, first, step, concurrency, nodeIds, excludeNodeIds }: Fire, answer: Answer): void {
    const own = new Set(nodeIds);
    const client = new Client(plan, {
      calls: this.#calls,
      clock: this.#context.clock,
      isOwn: (nodeId) => own.has(nodeId),
      excludeNodeIds,
      timed: (call, durationMs) => this.#durationsMs[call].push(durationMs),
      tellNodes: (happened) => this.#context.post(happened),
      heard: (promised) => {
        if (plan.patience !== null) this.#context.post(promised);
      },
    });
    let number = first;
    const liveOn = async (): Promise<void> => {
      while (number < plan.requests && !this.#stopped) {
        const intention = intentionOf(plan, number);
        number += step;
        this.#records.push(await client.live(intention));
        if (plan.patience !== null) await this.#rest(plan.patience.restMs);
        if (this.#records.length % PROGRESS_EVERY === 0) this.#noteProgress(PROGRESS_EVERY);
      }
    };
    Promise.all(Array.from({ length: concurrency }, liveOn)).then(() => {
      this.#noteProgress(this.#records.length % PROGRESS_EVERY);
      const fired: Fired = { records: this.#records, durationsMs: this.#durationsMs, calls: this.#calls.answered };
      answer(fired);
    });
  }

  #rest(restMs: number): Promise<void> {
    return new Promise((resolve) => void this.#context.clock.after(restMs, resolve));
  }

  #noteProgress(count: number): void {
    this.#context.post({ type: "requests_done", count } as Message);
  }
}
