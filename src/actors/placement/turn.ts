/** The handling of one message: what it changes is applied at once and handed out at its end. */
import type { Change, Notice, Outcome, PlacementEvent, RouteChange, Turn } from "./events.ts";
import type { ChangeTime } from "./ledger/record.ts";

// Most messages change nothing, and none of those needs lists of its own.
const NONE: readonly never[] = [];

export class OpenTurn implements Turn {
  readonly now: ChangeTime;
  readonly #apply: (change: Change, at: ChangeTime) => void;
  #events: PlacementEvent[] | null = null;
  #notices: Notice[] | null = null;
  #routes: RouteChange[] | null = null;

  constructor(now: ChangeTime, apply: (change: Change, at: ChangeTime) => void) {
    this.now = now;
    this.#apply = apply;
  }

  get position(): number {
    return this.now.position;
  }

  emit(change: Change): void {
    this.#apply(change, this.now);
    const event = { position: this.now.position, wallMs: this.now.wallMs, change };
    // Most turns make one event: an array that is grown from none has room for many.
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

  close<Answer>(reply: Answer): Outcome<Answer> {
    return { reply, events: this.#events ?? NONE, notices: this.#notices ?? NONE, routes: this.#routes ?? NONE };
  }
}
