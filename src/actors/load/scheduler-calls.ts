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

export class SchedulerCalls {
  readonly #pool: Pool;
  readonly #basePath: string;
  #answered = 0;

  /** `scheduler` is a base URL, without a slash at its end. */
  constructor(scheduler: string, connections: number) {
    const { origin, pathname } = new URL(scheduler);
    this.#basePath = pathname.replace(/\/$/, "");
    this.#pool = new Pool(origin, {
      connections,
      pipelining: 1,
      headersTimeout: CALL_DEADLINE_MS,
      bodyTimeout: CALL_DEADLINE_MS,
      connectTimeout: CALL_DEADLINE_MS,
    });
  }

  /** Calls that were answered, whatever the answer. */
  get answered(): number {
    return this.#answered;
  }

  /** Never rejects. */
  async call(method: "GET" | "POST" | "DELETE", path: string, body?: object): Promise<CallEnd> {
    try {
      const answer = await this.#pool.request({
        method,
        path: this.#basePath + path,
        ...(body === undefined ? {} : { headers: JSON_BODY, body: JSON.stringify(body) }),
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

const JSON_BODY = { "content-type": "application/json" } as const;

export function isSuccess(end: CallEnd): end is Extract<CallEnd, { answered: true }> {
  return end.answered && end.status >= 200 && end.status < 300;
}

/** What a call that was no success says, in words. */
export function problemIn(end: CallEnd): string {
  if (!end.answered) return end.why;
  return apiErrorIn(end)?.message ?? `status ${end.status}`;
}

/** The error in an answer; null where it has none. */
export function apiErrorIn(end: CallEnd): ApiError | null {
  if (!end.answered || end.body === null || typeof end.body !== "object" || !("error" in end.body)) return null;
  return end.body.error as ApiError;
}
