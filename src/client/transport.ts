import type { z } from "zod";
import { problemSchema } from "../messages/http/problem.ts";
import type { Clock } from "../ports/clock.ts";
import { abortedBy, PlacementError } from "./errors.ts";

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

/** Whom to trust and what to show over TLS, each in PEM. */
export interface ClientTls {
  /** Authorities that the scheduler's certificate is verified by; absent: those of Node. */
  readonly ca?: string;
  /** A certificate of one's own, where the scheduler asks for one, and its private key. */
  readonly cert?: string;
  readonly key?: string;
}

export interface TransportOptions {
  /** Base URL of the scheduler, without a slash at its end. */
  readonly url: string;
  readonly clock: Clock;
  /** The bearer token to send, asked for with every call; null for none. */
  readonly token?: () => string | null;
  /** In place of the global one. */
  readonly fetch?: Fetch;
}

/** What is used of the global `fetch`. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchAnswer>;

export interface FetchInit {
  readonly method: string;
  readonly signal: AbortSignal;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly redirect: "error";
}

export interface FetchAnswer {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** How a client with these options fetches; loads what TLS of one's own takes. */
export async function openFetch(tls: ClientTls | null): Promise<Fetch> {
  if (tls === null) return fetch;
  const { pooledFetch } = await import("./pooled-fetch.ts");
  return pooledFetch(tls);
}

/** One call of the HTTP API: the answer's JSON (null for 204), or a `PlacementError` thrown. Connections are kept alive. */
export async function callApi(options: TransportOptions, call: Call): Promise<unknown> {
  const { url, clock } = options;
  const late = new AbortController();
  const deadline = clock.after(call.withinMs, () => late.abort());
  try {
    const send: Fetch = options.fetch ?? fetch;
    const response = await send(`${url}${call.path}`, {
      method: call.method,
      signal: call.signal === undefined ? late.signal : AbortSignal.any([late.signal, call.signal]),
      headers: headersOf(options.token?.() ?? null, call),
      // A scheduler never redirects; whoever does would be sent the token.
      redirect: "error",
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    });
    const text = await response.text();
    if (response.status === 204) return null;
    const body = parseJson(text);
    if (response.ok && body !== undefined) return body;
    throw errorOf(url, response, body);
  } catch (thrown) {
    if (thrown instanceof PlacementError) throw thrown;
    if (call.signal?.aborted) throw abortedBy(call.signal.reason);
    if (late.signal.aborted) {
      const message = `the scheduler at ${url} did not answer within ${Math.ceil(call.withinMs) / 1000} s`;
      throw new PlacementError({ code: "timeout", message, cause: thrown });
    }
    const message = `the scheduler at ${url} cannot be reached: ${describeBreak(thrown)}`;
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

function headersOf(token: string | null, { body }: Call): Record<string, string> {
  return {
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  };
}

function errorOf(url: string, response: FetchAnswer, body: unknown): PlacementError {
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
function retryAfterOf(response: FetchAnswer): number | null {
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
function describeBreak(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const { cause } = thrown;
  const first = cause instanceof AggregateError ? (cause.errors[0] as unknown) : cause;
  return first instanceof Error && first.message !== "" ? first.message : thrown.message;
}
