/**
 * `PlacementClient` asks a scheduler for nodes and tells it what became of its reservations. Requests and answers have
 * the shapes of the HTTP API. Every call may be repeated safely, and is, while the scheduler is away or overloaded.
 */
import { reservationAnswerSchema } from "../messages/http/reservation.ts";
import { scheduleAnswerSchema } from "../messages/http/schedule.ts";
import { type Clock, systemClock } from "../ports/clock.ts";
import { type Random, systemRandom } from "../ports/random.ts";
import type {
  CallOptions,
  ConfirmOptions,
  PlacementCalls,
  Reservation,
  ScheduleAnswer,
  ScheduleRequest,
} from "./calls.ts";
import type { Create } from "./create.ts";
import { type Placed, type PlaceOptions, type PlaceRequest, place } from "./place.ts";
import { repeat } from "./repeat.ts";
import { type ClientTls, callApi, type Fetch, openFetch, parseAnswer } from "./transport.ts";

export interface PlacementClientOptions {
  /** Base URL of the scheduler, such as `http://127.0.0.1:7070`. */
  readonly url: string;
  /**
   * How long one call may take with all its repeats, in milliseconds; 0: it is tried once. Default 15 s: longer than a
   * scheduler's start.
   */
  readonly withinMs?: number;
  /** How long a single try may take, in milliseconds. Default 5 s. */
  readonly tryWithinMs?: number;
  /** Bearer token of kind `client`, or where to take it from with each call, such as a file that is rotated. */
  readonly token?: string | (() => string | null);
  readonly tls?: ClientTls;
  /** How it calls, in place of what `tls` would choose. */
  readonly fetch?: Fetch;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** 128 random bits, as many as a token has. */
const REQUEST_ID_BYTES = 16;

export class PlacementClient implements PlacementCalls {
  readonly #url: string;
  readonly #withinMs: number;
  readonly #tryWithinMs: number;
  readonly #token: () => string | null;
  readonly #tls: ClientTls | null;
  #fetch: Promise<Fetch> | null;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(options: PlacementClientOptions) {
    this.#url = options.url.replace(/\/+$/, "");
    this.#withinMs = options.withinMs ?? 15_000;
    this.#tryWithinMs = options.tryWithinMs ?? 5_000;
    const { token = null } = options;
    this.#token = typeof token === "function" ? token : () => token;
    this.#tls = options.tls ?? null;
    this.#fetch = options.fetch === undefined ? null : Promise.resolve(options.fetch);
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
  }

  /**
   * Picks a node and, when the request has a hint, reserves on it. Without a `request_id` one is made, so that a repeat
   * after a lost answer returns the same reservation. Throws `PlacementError`, `no_nodes` among others.
   */
  async schedule(request: ScheduleRequest, options: CallOptions = {}): Promise<ScheduleAnswer> {
    const requestId = `rq_${Buffer.from(this.#random.bytes(REQUEST_ID_BYTES)).toString("base64url")}`;
    const answer = await this.#post("/v1/schedule", { request_id: requestId, ...request }, options);
    return parseAnswer(scheduleAnswerSchema, answer, this.#url);
  }

  /** The sandbox exists. `expired`: the lease is over and it no longer fits; destroy it, or confirm with `force`. */
  confirm(token: string, sandboxId: string, { force, ...options }: ConfirmOptions = {}): Promise<Reservation> {
    const body = { sandbox_id: sandboxId, ...(force === undefined ? {} : { force }) };
    return this.#move(token, "confirm", body, options);
  }

  /** No sandbox came of it. The reasons `refused` and `failed` count towards the node's demotion. */
  cancel(token: string, reason?: string, options: CallOptions = {}): Promise<Reservation> {
    return this.#move(token, "cancel", reason === undefined ? {} : { reason }, options);
  }

  /** Begins the lease anew; also takes back `uncertain`. */
  renew(token: string, options: CallOptions = {}): Promise<Reservation> {
    return this.#move(token, "renew", {}, options);
  }

  /** Nobody can say whether a sandbox came of it: it stays charged for a short while. */
  uncertain(token: string, reason?: string, options: CallOptions = {}): Promise<Reservation> {
    return this.#move(token, "uncertain", reason === undefined ? {} : { reason }, options);
  }

  /**
   * Schedules, runs `create` on the node, and closes the reservation according to what became of it:
   *
   * | `create` | reservation | `place` |
   * |---|---|---|
   * | returns a sandbox id | confirmed | resolves |
   * | throws `CreateRefused` | cancelled | tries another node |
   * | throws `CreateFailed` | cancelled | throws `failed` |
   * | throws anything else, or has not ended 1 s after its signal was aborted | uncertain | throws `uncertain` |
   * | has not begun when `signal` is aborted | cancelled | throws `aborted` |
   *
   * While `create` runs, the lease is renewed at half its time. Throws `PlaceError`; its `sandboxId` is set exactly when
   * a sandbox is known to exist.
   */
  place(request: PlaceRequest, create: Create, options: PlaceOptions = {}): Promise<Placed> {
    return place({ client: this, clock: this.#clock, request, create, options });
  }

  async #move(token: string, verb: string, body: object, options: CallOptions): Promise<Reservation> {
    const answer = await this.#post(`/v1/reservations/${encodeURIComponent(token)}/${verb}`, body, options);
    return parseAnswer(reservationAnswerSchema, answer, this.#url).reservation;
  }

  #post(path: string, body: object, { withinMs = this.#withinMs, signal }: CallOptions): Promise<unknown> {
    const once = async (leftMs: number): Promise<unknown> => {
      this.#fetch ??= openFetch(this.#tls);
      const transport = { url: this.#url, clock: this.#clock, token: this.#token, fetch: await this.#fetch };
      const tryWithinMs = withinMs === 0 ? this.#tryWithinMs : Math.min(this.#tryWithinMs, leftMs);
      return callApi(transport, { method: "POST", path, body, withinMs: tryWithinMs, signal });
    };
    return repeat(once, { clock: this.#clock, random: this.#random, withinMs, signal });
  }
}
