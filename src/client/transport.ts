import type { z } from "zod";
import { problemSchema } from "../messages/http/problem.ts";
import type { Clock } from "../ports/clock.ts";
import { PlacementError } from "./errors.ts";

export interface Call {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the base URL, beginning with `/v1`. */
  readonly path: string;
  /** Sent as JSON; absent for none. */
  readonly body?: object;
  /** How long the answer may take, in milliseconds. */
  readonly withinMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface TransportOptions {
  /** Base URL of the scheduler, without a slash at its end. */
  readonly url: string;
  readonly clock: Clock;
}

/** One call of the HTTP API: the answer's JSON (null for 204), or a `PlacementError` thrown. Connections are kept alive. */
export async function callApi({ url, clock }: TransportOptions, call: Call): Promise<unknown> {
  const late = new AbortController();
  const deadline = clock.after(call.withinMs, () => late.abort());
  try {
    const response = await fetch(`${url}${call.path}`, {
      method: call.method,
      signal: call.signal === undefined ? late.signal : AbortSignal.any([late.signal, call.signal]),
      ...(call.body === undefined
        ? {}
        : { body: JSON.stringify(call.body), headers: { "content-type": "application/json" } }),
    });
    const text = await response.text();
    if (response.status === 204) return null;
    const body = parseJson(text);
    if (response.ok && body !== undefined) return body;
    throw errorOf(url, response, body);
  } catch (thrown) {
    if (thrown instanceof PlacementError) throw thrown;
    if (call.signal?.aborted) {
      throw new PlacementError({ code: "aborted", message: "the call was aborted by its caller", cause: thrown });
    }
    if (late.signal.aborted) {
      const message = `the scheduler at ${url} did not answer within ${call.withinMs / 1000} s`;
      throw new PlacementError({ code: "timeout", message, cause: thrown });
    }
    const message = `the scheduler at ${url} cannot be reached: ${describe(thrown)}`;
    throw new PlacementError({ code: "unreachable", message, cause: thrown });
  } finally {
    deadline.cancel();
  }
}

/** The answer in the shape that the API promises. */
export function parseAnswer<T>(schema: z.ZodType<T>, answer: unknown, url: string): T {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new PlacementError({ code: "unexpected_answer", message: `what answers at ${url} is not a scheduler` });
}

function errorOf(url: string, response: Response, body: unknown): PlacementError {
  const { status } = response;
  const retryAfterMs = retryAfterOf(response);
  const problem = problemSchema.safeParse(body);
  if (!problem.success) {
    const message = `what answers at ${url} is not a scheduler (HTTP status ${status})`;
    return new PlacementError({ code: "unexpected_answer", message, status, retryAfterMs });
  }
  const { code, message, details } = problem.data.error;
  return new PlacementError({ code, message, details, status, retryAfterMs });
}

/** RFC 9110, 10.2.3, in its form of whole seconds; null for the other form, which nothing here sends. */
function retryAfterOf(response: Response): number | null {
  const text = response.headers.get("retry-after") ?? "";
  return /^\d{1,6}$/.test(text) ? Number(text) * 1_000 : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `fetch` says "fetch failed"; what failed is its cause, and with several addresses the cause's first. */
function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const { cause } = thrown;
  const first = cause instanceof AggregateError ? (cause.errors[0] as unknown) : cause;
  return first instanceof Error && first.message !== "" ? first.message : thrown.message;
}
