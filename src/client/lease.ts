import type { Clock, Timer } from "../ports/clock.ts";
import type { PlacementCalls, Reservation } from "./calls.ts";

export interface LeaseOptions {
  readonly client: Pick<PlacementCalls, "renew">;
  readonly clock: Clock;
  readonly token: string;
  readonly reservation: Reservation;
  /** When the reservation was asked for, monotonic: the lease cannot have begun earlier. */
  readonly askedAtMs: number;
}

/**
 * Of a lease as it was first granted, how much passes at least between two renewals. Where the reservation took longer to
 * come than its lease lasts, half of what is certainly left is nothing, and renewals would follow one upon the other.
 */
const RENEWAL_SHARE_MIN = 0.1;
/** Nobody reads it; without a reason every release would make an exception and its stack. */
const RELEASED = "released";

/**
 * Renews a lease each time half of what is left of it has passed, until it is released or the scheduler grants no more.
 * Its end is reckoned on our own clock, from the difference of the scheduler's two times: the two clocks need not agree.
 * It was made between the question and the answer, so that it ends between two times as well: renewals keep to the
 * earlier one, and it is over at the later one.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #answeredAtMs: number;
  readonly #renewalWaitMsMin: number;
  readonly #released = new AbortController();
  readonly #over = new AbortController();
  /** From when the reservation was made to its lease's end. */
  #lengthMs: number;
  #renewTimer: Timer | null = null;
  #overTimer: Timer | null = null;
  #renewal: Promise<void> = Promise.resolve();

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#answeredAtMs = options.clock.monotonicMs();
    this.#lengthMs = lengthMs(options.reservation);
    this.#renewalWaitMsMin = this.#lengthMs * RENEWAL_SHARE_MIN;
    this.#startTimers();
  }

  /** What is certainly left, in milliseconds; 0 when it may be over. */
  get leftMs(): number {
    return Math.max(0, this.#options.askedAtMs + this.#lengthMs - this.#options.clock.monotonicMs());
  }

  /** Aborted once it is certainly over; never after its release. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Ends the renewals. Resolves when none is under way any more, so that none can overtake what is said next. */
  release(): Promise<void> {
    this.#released.abort(RELEASED);
    this.#cancelTimers();
    return this.#renewal;
  }

  get #untilOverMs(): number {
    return Math.max(0, this.#answeredAtMs + this.#lengthMs - this.#options.clock.monotonicMs());
  }

  #startTimers(): void {
    const { clock } = this.#options;
    const waitMs = Math.max(this.leftMs / 2, this.#renewalWaitMsMin);
    this.#renewTimer = clock.after(waitMs, () => {
      this.#renewal = this.#renew();
    });
    this.#overTimer = clock.after(this.#untilOverMs, () => {
      this.#renewTimer?.cancel();
      this.#over.abort(new Error("the lease of the reservation was over before the create had ended"));
    });
  }

  #cancelTimers(): void {
    this.#renewTimer?.cancel();
    this.#overTimer?.cancel();
  }

  async #renew(): Promise<void> {
    const { client, token } = this.#options;
    const { signal } = this.#released;
    try {
      const renewed = lengthMs(await client.renew(token, { withinMs: this.#untilOverMs, signal }));
      // Its greatest age is reached: from here on it runs out.
      if (renewed <= this.#lengthMs || signal.aborted || this.#over.signal.aborted) return;
      this.#lengthMs = renewed;
      this.#cancelTimers();
      this.#startTimers();
    } catch {
      // The lease is over, or ends by itself; the confirm will say what that means.
    }
  }
}

function lengthMs({ created_at, expires_at }: Reservation): number {
  return expires_at === null ? 0 : Date.parse(expires_at) - Date.parse(created_at);
}
