import { MessageChannel } from "node:worker_threads";
import * as Comlink from "comlink";
import { Piscina } from "piscina";
import { describeThrown } from "../../messages/thrown.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Log, PortableActor } from "./actor.ts";
import type { Refusal } from "./cell.ts";
import type { Host, HostEvents, OnFailure } from "./host.ts";
import type { Envelope } from "./mailbox.ts";
import type { Lane, Message } from "./message.ts";
import { moduleUrl } from "./module-url.ts";
import type { References } from "./references.ts";
import { type ServingOptions, serveReferences } from "./served-references.ts";
import type { StartRequest, ThreadReport, ThreadSurface } from "./thread-protocol.ts";

/** How long a thread may take to load an actor's module: far above a cold start on a busy machine. */
const START_DEADLINE_MS = 20_000;
/** How long an actor may take to hand over its state or to stop; it is then given up. */
const CALL_DEADLINE_MS = 5_000;
/**
 * Messages handed to one actor of a thread and not yet reported handled. Enough that a worker never idles for the round
 * trip to the main thread; few enough that the mailbox, which can still refuse, holds the rest.
 */
const WINDOW = 64;

/**
 * How many mailboxes full of messages of one lane may be under way from a thread to an actor. One is what its mailbox
 * holds, and two are for what has left it and waits for its answer. It bounds the port while the main thread is busy or
 * stands still; a main thread that gets on refuses by the mailbox before.
 */
const UNDER_WAY_PER_MAILBOX = 3;

const ENTRY = moduleUrl(import.meta.url, "./thread-entry");

/** What an actor in a thread says on its own account, and where the main thread takes it. */
export interface ActorSink {
  readonly post: (message: Message) => void;
  readonly tellSelf: (message: Message, lane?: Lane) => void;
  readonly log: Log;
  /** The thread has refused what the actor said to another one. */
  readonly refused: (refusal: Refusal) => void;
}

/** What begins in a thread. */
export interface Life {
  readonly actor: string;
  readonly portable: PortableActor;
  /** What the previous life handed over. */
  readonly inherited: unknown;
  readonly onFailure: OnFailure;
  /** The actors of this thread that it may speak to. */
  readonly references: References;
}

interface Tenant {
  readonly events: HostEvents;
  readonly sink: ActorSink;
}

/**
 * A worker thread that hosts actors. Piscina owns the thread (one endless task in a pool of one), Comlink is the call
 * surface. Calls to a thread that dies would stay pending for ever, so its death settles them.
 */
export class Thread {
  readonly name: string;
  readonly #clock: Clock;
  readonly #pool: Piscina;
  readonly #surface: Comlink.Remote<ThreadSurface>;
  readonly #tenants = new Map<string, Tenant>();
  readonly #questions = new Map<number, { tenant: Tenant; envelope: Envelope }>();
  /** Names of the actors whose messages were posted and not yet handled, oldest first: a thread works in that order. */
  readonly #unhandled = new Map<number, string>();
  #nextPost = 1;
  /** Stops that the thread has not reported yet. */
  readonly #stops = new Map<number, () => void>();
  #nextStop = 1;
  #gone: string | null = null;
  readonly #whenGone: Promise<string>;

  constructor(name: string, clock: Clock) {
    this.name = name;
    this.#clock = clock;
    const { port1, port2 } = new MessageChannel();
    this.#pool = new Piscina({
      filename: ENTRY,
      minThreads: 1,
      maxThreads: 1,
      // The task is endless and waits for messages; waiting on atomics would block the thread's event loop instead.
      atomics: "disabled",
      // Without this a worker inherits the flags of a test runner or debugger that it cannot run with.
      execArgv: [],
    });
    this.#surface = Comlink.wrap<ThreadSurface>(port1 as unknown as Comlink.Endpoint);
    // A worker that fails before it takes its task is an event of the pool, and the task then stays pending for ever.
    const failedToStart = new Promise<string>((resolve) => {
      this.#pool.on("error", (thrown: unknown) => resolve(describeThrown(thrown)));
    });
    const task = this.#pool.run({ port: port2 }, { transferList: [port2] }).then(
      () => "it has ended",
      (thrown: unknown) => describeThrown(thrown),
    );
    this.#whenGone = Promise.race([task, failedToStart]);
    this.#whenGone.then((reason) => {
      port1.close();
      this.#onGone(reason);
    });
    this.#call(this.#surface.connect(Comlink.proxy((report: ThreadReport) => this.#onReport(report)))).catch(
      () => undefined, // the death of the thread is reported to each tenant
    );
  }

  get alive(): boolean {
    return this.#gone === null;
  }

  /** The actor that the thread is working on or cannot get past; null when it has nothing to do. */
  get busyWith(): string | null {
    return this.#unhandled.values().next().value ?? null;
  }

  /** Actors that live here now. */
  get actors(): string[] {
    return [...this.#tenants.keys()];
  }

  /** Begins a life of an actor in this thread. */
  open(life: Life, events: HostEvents, sink: ActorSink): Host {
    const { actor } = life;
    const tenant: Tenant = { events, sink };
    if (this.#gone !== null) {
      events.died(`thread ${this.name} is gone: ${this.#gone}`);
    } else {
      this.#tenants.set(actor, tenant);
      this.#start(life, tenant);
    }
    return {
      window: WINDOW,
      deliver: (envelope) => this.#deliver(actor, envelope, tenant),
      drained: () => undefined,
      handover: () => this.#call(this.#surface.handover(actor)),
      stop: async () => {
        if (this.#tenants.get(actor) !== tenant) return;
        this.#tenants.delete(actor);
        if (this.#gone === null) await this.#call(this.#stop(actor));
        // Whatever it had been asked before is handled by now, and what it has kept to answer later dies with it.
        for (const [post, question] of this.#questions) {
          if (question.tenant === tenant) this.#failQuestion(post, "actor_dead", "it has been stopped");
        }
      },
    };
  }

  /** Ends the thread. Resolves true when it is gone, false when it did not end in time: it sits in a system call. */
  async end(deadlineMs: number): Promise<boolean> {
    if (this.#gone !== null) return true;
    this.#call(this.#surface.end()).catch(() => undefined);
    return this.#within(
      deadlineMs,
      this.#whenGone.then(() => true),
      false,
    );
  }

  #start({ actor, portable, inherited, onFailure, references }: Life, { events, sink }: Tenant): void {
    const { module, init } = portable;
    const way = openReferences(references, { isGone: () => this.#gone !== null, onRefused: sink.refused });
    const request = { actor, module, init, inherited, onFailure, references: way };
    this.#call(this.#surface.start(Comlink.transfer(request, way === null ? [] : [way.port])), START_DEADLINE_MS).then(
      (failure) => (failure === null ? events.started() : events.died(failure)),
      (thrown: unknown) => events.died(describeThrown(thrown)),
    );
  }

  #deliver(actor: string, envelope: Envelope, tenant: Tenant): void {
    const { events } = tenant;
    const post = this.#nextPost++;
    if (envelope.answer !== null) this.#questions.set(post, { tenant, envelope });
    this.#unhandled.set(post, actor);
    // No deadline here: a message that blocks the thread for long is late, not lost, and `busyWith` shows it.
    this.#surface.post(actor, envelope.message, envelope.answer === null ? null : post).then(
      (failure) => {
        this.#unhandled.delete(post);
        if (failure !== null) this.#failQuestion(post, failure.code, failure.reason);
        events.handled(failure?.reason ?? null);
      },
      (thrown: unknown) => {
        // The message itself could not cross, for instance because it is not plain data.
        this.#unhandled.delete(post);
        this.#failQuestion(post, "failed", describeThrown(thrown));
        events.handled(describeThrown(thrown));
      },
    );
  }

  /** Resolves when all that the actor had answered before has been taken: answers come by another port than calls end. */
  async #stop(actor: string): Promise<void> {
    const nth = this.#nextStop++;
    const reported = new Promise<void>((resolve) => this.#stops.set(nth, resolve));
    await this.#surface.stop(actor, nth);
    await reported;
  }

  #onReport(report: ThreadReport): void {
    switch (report.kind) {
      case "stopped":
        this.#stops.get(report.stop)?.();
        this.#stops.delete(report.stop);
        return;
      case "answer": {
        const question = this.#questions.get(report.question);
        this.#questions.delete(report.question);
        question?.envelope.answer?.(report.value);
        return;
      }
      case "post":
        this.#tenants.get(report.actor)?.sink.post(report.message);
        return;
      case "drain_failed":
        this.#tenants.get(report.actor)?.events.drainFailed(report.reason);
        return;
      case "self":
        this.#tenants.get(report.actor)?.sink.tellSelf(report.message, report.lane);
        return;
      case "log":
        this.#tenants.get(report.actor)?.sink.log[report.level](report.fields, report.text);
        return;
      default:
        report satisfies never;
    }
  }

  #failQuestion(post: number, code: "failed" | "actor_dead", reason: string): void {
    const question = this.#questions.get(post);
    this.#questions.delete(post);
    question?.envelope.fail?.(code, reason);
  }

  #onGone(reason: string): void {
    this.#gone = reason;
    for (const post of [...this.#questions.keys()])
      this.#failQuestion(post, "actor_dead", `its thread is gone: ${reason}`);
    this.#unhandled.clear();
    const tenants = [...this.#tenants.values()];
    this.#tenants.clear();
    for (const { events } of tenants) events.died(`thread ${this.name} is gone: ${reason}`);
    this.#pool.destroy().catch(() => undefined);
  }

  /** A Comlink call that ends: with its value, with an error at the deadline, or when the thread is gone. */
  #call<T>(call: Promise<T>, deadlineMs = CALL_DEADLINE_MS): Promise<T> {
    let timer: Timer | null = null;
    const late = new Promise<never>((_, reject) => {
      const complain = () => reject(new Error(`thread ${this.name} did not answer in ${deadlineMs} ms`));
      timer = this.#clock.after(deadlineMs, complain);
    });
    const gone = this.#whenGone.then((reason): never => {
      throw new Error(`thread ${this.name} is gone: ${reason}`);
    });
    return Promise.race([call, late, gone]).finally(() => timer?.cancel());
  }

  #within<T>(deadlineMs: number, result: Promise<T>, otherwise: T): Promise<T> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(deadlineMs, () => resolve(otherwise));
      result.then((value) => {
        timer.cancel();
        resolve(value);
      });
    });
  }
}

/** A way to the actors for one life, which ends with it: the port that crosses is closed there, or by the thread's end. */
function openReferences(references: References, options: ServingOptions): StartRequest["references"] {
  const addressees = Object.entries(references).map(([name, { mailboxCapacity }]) => {
    return { name, underWayMax: UNDER_WAY_PER_MAILBOX * mailboxCapacity };
  });
  if (addressees.length === 0) return null;
  const { port1, port2 } = new MessageChannel();
  serveReferences(port1, references, options);
  return { addressees, port: port2 };
}
