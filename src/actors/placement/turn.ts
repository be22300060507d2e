/** The handling of one message: what it changes is applied at once and handed out at its end. */
import type { Change, Instant, Notice, Outcome, PlacementEvent, RouteChange, Turn } from "./events.ts";
import type { ChangeTime } from "./ledger/record.ts";

// Most messages change nothing, and none of those needs lists of its own.
const NONE: readonly never[] = [];

export class OpenTurn implements Turn {
  readonly now: Instant;
  readonly position: number;
  readonly #at: ChangeTime;
  readonly #apply: (change: Change, at: ChangeTime) => void;
  #events: PlacementEvent[] | null = null;
  #notices: Notice[] | null = null;
  #routes: RouteChange[] | null = null;

  constructor(now: Instant, position: number, apply: (change: Change, at: ChangeTime) => void) {
    this.now = now;
    this.position = position;
    this.#at = { nowMs: now.nowMs, wallMs: now.wallMs, position };
    this.#apply = apply;
  }

  emit(change: Change): void {
    this.#apply(change, this.#at);
    this.#events ??= [];
    this.#events.push({ position: this.position, wallMs: this.now.wallMs, change });
  }

  notice(notice: Notice): void {
    this.#notices ??= [];
    this.#notices.push(notice);
  }

  route(route: RouteChange): void {
    this.#routes ??= [];
    this.#routes.push(route);
  }

  close<Answer>(reply: Answer): Outcome<Answer> {
    return { reply, events: this.#events ?? NONE, notices: this.#notices ?? NONE, routes: this.#routes ?? NONE };
  }
}
