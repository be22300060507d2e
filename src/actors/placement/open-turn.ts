/**
 * The handling of one message: the moment at which it happens, and what comes of it. What it changes is applied at once
 * and handed out at its end. One object is all of that, because one is made for every message.
 */
import type { Reply } from "../../messages/placement.ts";
import type { Change, PlacementEvent } from "./events.ts";
import type { Instant } from "./instant.ts";
import type { ChangeTime } from "./ledger/record.ts";
import type { Notice, RouteChange, Turn, TurnOutcome } from "./turn.ts";

// Reports mostly change nothing durable, and none of those needs lists of its own.
const NONE: readonly never[] = [];

export class OpenTurn implements Turn, ChangeTime, TurnOutcome<Reply<unknown> | null> {
  readonly nowMs: number;
  readonly wallMs: number;
  readonly position: number;
  /** Null until the handler has answered. */
  reply: Reply<unknown> | null = null;
  readonly #apply: (change: Change, at: ChangeTime) => void;
  #events: PlacementEvent[] | null = null;
  #notices: Notice[] | null = null;
  #routes: RouteChange[] | null = null;

  constructor(now: Instant, position: number, apply: (change: Change, at: ChangeTime) => void) {
    this.nowMs = now.nowMs;
    this.wallMs = now.wallMs;
    this.position = position;
    this.#apply = apply;
  }

  get now(): ChangeTime {
    return this;
  }

  get events(): readonly PlacementEvent[] {
    return this.#events ?? NONE;
  }

  get notices(): readonly Notice[] {
    return this.#notices ?? NONE;
  }

  get routes(): readonly RouteChange[] {
    return this.#routes ?? NONE;
  }

  emit(change: Change): void {
    this.#apply(change, this);
    const event = { position: this.position, wallMs: this.wallMs, change };
    // A turn that changes something mostly makes one event: an array that is grown from none has room for many.
    if (this.#events === null) this.#events = [event];
    else this.#events.push(event);
  }

  notice(notice: Notice): void {
    this.#notices ??= [];
    this.#notices.push(notice);
  }

  route(route: RouteChange): void {
    this.#routes ??= [];
    this.#routes.push(route);
  }
}
