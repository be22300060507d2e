import type { EventEmitter } from "eventemitter3";
import { describeThrown } from "../../messages/thrown.ts";
import type { Clock } from "../../ports/clock.ts";
import { type Backoff, backoffMs } from "./backoff.ts";
import type { Host, HostEvents, OnFailure, OpenHost } from "./host.ts";
import { type Envelope, Mailbox } from "./mailbox.ts";
import type { Lane } from "./message.ts";
import type { ActorErrorCode } from "./outcome.ts";

/** So many messages of a type were refused, since too many wait for their actor or are on their way to it. */
export interface Refusal {
  readonly actor: string;
  readonly type: string;
  readonly count: number;
}

/** Notifications for logs and metrics; never a way between actors. */
export interface KernelEvents {
  /** A life ended by a failure; the next begins in `retryMs`. Null: the actor goes on with the state it has. */
  failed: (failure: { actor: string; reason: string; retryMs: number | null }) => void;
  /** A life after a failed one has begun; `lives` counts it and all before. */
  restarted: (life: { actor: string; lives: number }) => void;
  moved: (move: { actor: string; place: string }) => void;
  refused: (refusal: Refusal) => void;
}

export interface CellOptions {
  readonly name: string;
  readonly mailboxCapacity: number;
  /**
   * After a handler threw: `restart` begins a new life, for actors whose state can be had again; `resume` goes on with
   * the next message, for actors whose handlers change nothing before they can no longer throw.
   */
  readonly onFailure: OnFailure;
  readonly backoff: Backoff;
  readonly clock: Clock;
  readonly events: EventEmitter<KernelEvents>;
}

/**
 * ```
 * starting ──started──▶ running ──failed──▶ waiting ──back-off over──▶ starting
 *     └──────died──────────────────────────────▲
 * any but stopped ──move──▶ starting (elsewhere)         any ──stop──▶ stopped
 * ```
 * While starting, messages queue; while waiting or stopped, they are refused as `actor_dead`.
 */
export type CellState = "starting" | "running" | "waiting" | "stopped";

/**
 * Messages handled before the event loop gets a turn. More would batch commits better and delay sockets longer; 256
 * handlers of a few microseconds stay well under a millisecond.
 */
const MESSAGES_PER_TURN = 256;

/** What stands behind a reference: mailbox, the present life of the actor, and its supervision. */
export class Cell {
  readonly name: string;
  readonly #options: CellOptions;
  readonly #mailbox: Mailbox;
  #open: OpenHost;
  #host: Host | null = null;
  /** Tells the present life's notifications from those of an earlier one. */
  #life = 0;
  /** How many have begun, counting the present one. */
  #lives = 0;
  #state: CellState = "starting";
  #inHand = 0;
  #pumping = false;
  #failuresInRow = 0;
  #startedAtMs = 0;

  constructor(options: CellOptions, open: OpenHost) {
    this.name = options.name;
    this.#options = options;
    this.#mailbox = new Mailbox(options.mailboxCapacity);
    this.#open = open;
    this.#begin(undefined, { afterFailure: false });
  }

  get state(): CellState {
    return this.#state;
  }

  /** Messages waiting or handed over and not yet handled. */
  get depth(): number {
    return this.#mailbox.length + this.#inHand;
  }

  readonly post = (envelope: Envelope, lane: Lane): ActorErrorCode | null => {
    if (this.#state === "waiting" || this.#state === "stopped") return "actor_dead";
    if (!this.#mailbox.push(envelope, lane, this.#inHand)) {
      this.#options.events.emit("refused", { actor: this.name, type: envelope.message.type, count: 1 });
      return "mailbox_full";
    }
    this.#pumpSoon();
    return null;
  };

  /**
   * Ends the present life and begins the next through `open`. With `handover` the state goes along; that waits until
   * the old life has handled what it was given, so without it when the old one no longer answers. Messages queue
   * meanwhile.
   */
  async move(open: OpenHost, { place, handover }: { place: string; handover: boolean }): Promise<void> {
    if (this.#state === "stopped") return;
    this.#open = open;
    const old = this.#host;
    this.#state = "starting";
    const life = this.#endLife();
    const inherited = handover ? await this.#inheritFrom(old) : undefined;
    // Not awaited: a life that is stuck would never let the next begin.
    old?.stop().catch(() => undefined);
    if (life !== this.#life) return; // stopped or moved again meanwhile
    this.#begin(inherited, { afterFailure: false });
    this.#options.events.emit("moved", { actor: this.name, place });
  }

  /** The last word: passes before everything that waits. What waits is failed. */
  async stop(): Promise<void> {
    if (this.#state === "stopped") return;
    this.#state = "stopped";
    const old = this.#host;
    this.#endLife();
    this.#failWaiting("it has been stopped");
    await old?.stop();
  }

  #onStarted(afterFailure: boolean): void {
    this.#state = "running";
    this.#startedAtMs = this.#options.clock.monotonicMs();
    this.#lives++;
    if (afterFailure) this.#options.events.emit("restarted", { actor: this.name, lives: this.#lives });
    this.#pumpSoon();
  }

  #begin(inherited: unknown, { afterFailure }: { readonly afterFailure: boolean }): void {
    this.#state = "starting";
    const life = ++this.#life;
    const isPresent = (): boolean => life === this.#life;
    const events: HostEvents = {
      started: () => {
        if (isPresent()) this.#onStarted(afterFailure);
      },
      handled: (failure) => {
        if (!isPresent()) return;
        this.#inHand--;
        if (failure !== null) this.#onFailure(failure);
        else this.#pumpSoon();
      },
      drainFailed: (reason) => {
        if (isPresent()) this.#onFailure(reason);
      },
      died: (reason) => {
        if (isPresent()) this.#restartLater(reason);
      },
    };
    try {
      const host = this.#open(inherited, events);
      if (life === this.#life) this.#host = host;
    } catch (thrown) {
      // No thread could be started, for want of memory, descriptors or tasks: that passes.
      events.died(describeThrown(thrown));
    }
  }

  /** A state that cannot be handed over is a failure like another: it is told, and the next life starts afresh. */
  async #inheritFrom(old: Host | null): Promise<unknown> {
    try {
      return await old?.handover();
    } catch (thrown) {
      this.#options.events.emit("failed", { actor: this.name, reason: describeThrown(thrown), retryMs: 0 });
      return undefined;
    }
  }

  #endLife(): number {
    this.#host = null;
    this.#inHand = 0;
    return ++this.#life;
  }

  #pumpSoon(): void {
    if (this.#pumping || this.#state !== "running" || this.#mailbox.length === 0) return;
    this.#pumping = true;
    setImmediate(() => {
      const delivered = this.#pump();
      this.#pumping = false;
      if (delivered > 0) this.#pumpSoon();
    });
  }

  /** Hands over what this turn may; how many that were. */
  #pump(): number {
    const host = this.#host;
    let delivered = 0;
    // A handler may end this life: the rest of the queue belongs to the next.
    while (host !== null && this.#host === host && this.#state === "running") {
      if (delivered >= MESSAGES_PER_TURN || this.#inHand >= host.window) break;
      const envelope = this.#mailbox.shift();
      if (envelope === undefined) break;
      this.#inHand++;
      delivered++;
      host.deliver(envelope);
    }
    if (host !== null && this.#host === host && delivered > 0) host.drained();
    return delivered;
  }

  #onFailure(reason: string): void {
    if (this.#options.onFailure === "restart") {
      this.#restartLater(reason);
      return;
    }
    this.#options.events.emit("failed", { actor: this.name, reason, retryMs: null });
    this.#pumpSoon();
  }

  #restartLater(reason: string): void {
    const { backoff, clock, events } = this.#options;
    // A life longer than the longest wait has shown that the cause was another one.
    const lived = this.#state === "running" ? clock.monotonicMs() - this.#startedAtMs : 0;
    this.#failuresInRow = lived > backoff.longestMs ? 1 : this.#failuresInRow + 1;
    const retryMs = backoffMs(this.#failuresInRow, backoff);
    this.#state = "waiting";
    this.#host?.stop().catch(() => undefined);
    const life = this.#endLife();
    this.#failWaiting("it failed and has not been restarted yet");
    events.emit("failed", { actor: this.name, reason, retryMs });
    clock.after(retryMs, () => {
      if (life === this.#life) this.#begin(undefined, { afterFailure: true });
    });
  }

  #failWaiting(reason: string): void {
    for (const envelope of this.#mailbox.clear()) envelope.fail?.("actor_dead", reason);
  }
}
