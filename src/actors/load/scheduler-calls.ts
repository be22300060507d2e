/** Calls of the scheduler's HTTP API, over kept connections, with a deadline for each. */
import { Pool } from "undici";
import { describeThrown } from "../../messages/thrown.ts";

/** As long as a patient caller waits; the scheduler itself gives an answer up sooner. */
const CALL_DEADLINE_MS = 15_000;

export type CallEnd =
  /** `body` is the parsed answer: an object, or null for none. */
  | { readonly answered: true; readonly status: number; readonly body: unknown }
  | { readonly answered: false; readonly why: string };

/** An error as the API writes it. */
export interface ApiError {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** How a scheduler is called. Plain data, which a worker thread can be handed. */
export interface SchedulerAccess {
  /** Base URL, without a slash at its end. */
  readonly url: string;
  /** The bearer token of every call that has none of its own; null for none. It is as it was read at the start. */
  readonly token: string | null;
  /** Whom to trust and what to show over TLS, each in PEM; null: the authorities of Node, and nothing. */
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | null;
}

export interface ApiCall {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  /** Sent as JSON; absent for none. */
  readonly body?: object;
  /** In place of the one of all calls; absent or null leaves that. */
  readonly token?: string | null;
}

export class SchedulerCalls {
  readonly #pool: Pool;
  readonly #basePath: string;
  readonly #token: string | null;
  #answered = 0;

  constructor({ url, token, tls }: SchedulerAccess, connections: number) {
    const { origin, pathname } = new URL(url);
    this.#basePath = pathname.replace(/\/$/, "");
    this.#token = token;
    this.#pool = new Pool(origin, {
      connections,
      pipelining: 1,
      headersTimeout: CALL_DEADLINE_MS,
      bodyTimeout: CALL_DEADLINE_MS,
      connect: { ...tls, timeout: CALL_DEADLINE_MS },
    });
  }

  /** Calls that were answered, whatever the answer. */
  get answered(): number {
    return this.#answered;
  }

  /** Never rejects. */
  async call({ method, path, body, token }: ApiCall): Promise<CallEnd> {
    const bearer = token ?? this.#token;
    try {
      const answer = await this.#pool.request({
        method,
        path: this.#basePath + path,
        headers: {
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.body.text();
      this.#answered += 1;
      return { answered: true, status: answer.statusCode, body: text === "" ? null : JSON.parse(text) };
    } catch (thrown) {
      return { answered: false, why: `${method} ${path.split("?")[0]}: ${describeThrown(thrown)}` };
    }
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

export function isSuccess(end: CallEnd): end is Extract<CallEnd, { answered: true }> {
  return end.answered && end.status >= 200 && end.status < 300;
}

/** What a call that was no success says, in words. */
export function problemIn(end: CallEnd): string {
  if (!end.answered) return end.why;
  return apiErrorIn(end)?.message ?? `status ${end.status}`;
}

/** What went wrong, in words, and the API's code for it; null where no such answer came. */
export interface Problem {
  readonly message: string;
  readonly code: string | null;
}

/** The error in an answer; null where it has none. */
export function apiErrorIn(end: CallEnd): ApiError | null {
  if (!end.answered || end.body === null || typeof end.body !== "object" || !("error" in end.body)) return null;
  return end.body.error as ApiError;
}
