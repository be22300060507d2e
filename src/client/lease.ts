import type { Clock, Timer } from "../ports/clock.ts";
import type { PlacementClient, Reservation } from "./placement-client.ts";

export interface LeaseOptions {
  readonly client: Pick<PlacementClient, "renew">;
  readonly clock: Clock;
  readonly token: string;
  readonly reservation: Reservation;
  /** When the reservation was asked for, monotonic: the lease cannot have begun earlier. */
  readonly askedAtMs: number;
}

/**
 * Renews a lease each time half of what is left of it has passed, until it is released or the scheduler grants no more.
 * Its end is reckoned on our own clock, from the difference of the scheduler's two times: the two clocks need not agree.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #released = new AbortController();
  #endsAtMs: number;
  #timer: Timer | null = null;
  #renewal: Promise<void> = Promise.resolve();

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#endsAtMs = this.#endOf(options.reservation);
    this.#renewLater();
  }

  /** What is left, in milliseconds; 0 when it is over. */
  get leftMs(): number {
    return Math.max(0, this.#endsAtMs - this.#options.clock.monotonicMs());
  }

  /** Ends the renewals. Resolves when none is under way any more, so that none can overtake what is said next. */
  release(): Promise<void> {
    this.#released.abort();
    this.#timer?.cancel();
    return this.#renewal;
  }

  #renewLater(): void {
    this.#timer = this.#options.clock.after(this.leftMs / 2, () => {
      this.#renewal = this.#renew();
    });
  }

  async #renew(): Promise<void> {
    const { client, token } = this.#options;
    const { signal } = this.#released;
    try {
      const endsAtMs = this.#endOf(await client.renew(token, { withinMs: this.leftMs, signal }));
      // Its greatest age is reached: from here on it runs out.
      if (endsAtMs <= this.#endsAtMs) return;
      this.#endsAtMs = endsAtMs;
      if (!signal.aborted) this.#renewLater();
    } catch {
      // The lease is over, or ends by itself; the confirm will say what that means.
    }
  }

  #endOf({ created_at, expires_at }: Reservation): number {
    const { askedAtMs } = this.#options;
    return expires_at === null ? askedAtMs : askedAtMs + (Date.parse(expires_at) - Date.parse(created_at));
  }
}
