/** How commands for people ask a scheduler: one call of the API's table, one page or one line of error. */
import { PlacementError } from "../client/errors.ts";
import { callApi, openFetch, parseAnswer, type TransportOptions } from "../client/transport.ts";
import {
  type AnswerOf,
  ENDPOINTS,
  type Endpoint,
  type EndpointName,
  type InputOf,
} from "../messages/http/endpoints.ts";
import { systemClock } from "../ports/clock.ts";
import type { Credentials } from "./credentials.ts";

/** Longer than a scheduler waits for its own actors, so that its answer is seen rather than our impatience. */
const ANSWER_WITHIN_MS = 15_000;

export interface ApiCommandOptions {
  /** Base URL of the scheduler. */
  readonly url: string;
  readonly credentials: Credentials;
  /** Print the answer and not the page. */
  readonly json: boolean;
  readonly output: NodeJS.WritableStream;
  readonly errors: NodeJS.WritableStream;
}

/** What a command shows: the answer for scripts, the page for people. Both end without a line break of their own. */
export interface Shown {
  readonly answer: object;
  readonly page: string;
}

/** The parts of a call that its endpoint reads. */
export type ApiInput<Name extends EndpointName> = { readonly [Part in keyof InputOf<Name>]?: object } & {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | null>>;
};

/** Calls an endpoint by its name in the table. Throws `PlacementError`. */
export type CallEndpoint = <Name extends EndpointName>(name: Name, input?: ApiInput<Name>) => Promise<AnswerOf<Name>>;

/**
 * Runs a command and prints what it shows. Returns the exit code: 1 when the scheduler refused or could not be reached,
 * with the reason on `errors`.
 */
export async function runApiCommand(
  options: ApiCommandOptions,
  run: (call: CallEndpoint) => Promise<Shown>,
): Promise<number> {
  try {
    const { url, credentials } = options;
    const fetch = await openFetch(credentials.tls);
    const transport = { url, clock: systemClock, token: () => credentials.token(), fetch };
    const { answer, page } = await run((name, input = {}) => callEndpoint(transport, name, input));
    options.output.write(options.json ? `${JSON.stringify(answer, null, 2)}\n` : `${page.trimEnd()}\n`);
    return 0;
  } catch (thrown) {
    if (!(thrown instanceof PlacementError)) throw thrown;
    options.errors.write(`evenkeel: ${thrown.message}${mendOf(thrown)}\n`);
    return 1;
  }
}

async function callEndpoint<Name extends EndpointName>(
  transport: TransportOptions,
  name: Name,
  { params = {}, query = {}, body }: ApiInput<Name>,
): Promise<AnswerOf<Name>> {
  const { method, path, answer }: Endpoint = ENDPOINTS[name];
  const upperCase = method === "get" ? "GET" : method === "post" ? "POST" : "DELETE";
  const call = {
    method: upperCase,
    path: fill(path, params) + queryOf(query),
    withinMs: ANSWER_WITHIN_MS,
    ...(method === "post" ? { body: body ?? {} } : {}),
  } as const;
  const answered = await callApi(transport, call);
  // The table pairs each name with its answer; the compiler cannot follow that through an index.
  return (answer === null ? null : parseAnswer(answer, answered, transport.url)) as AnswerOf<Name>;
}

function fill(path: string, params: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
}

function queryOf(query: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== null);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

function mendOf({ code, message }: PlacementError): string {
  if (code === "unauthenticated") return "; name a file that holds one with --token-file";
  if (code !== "unreachable") return "";
  if (/certificate/.test(message)) return "; name the authority that it comes from with --ca";
  return '; start one with "npx evenkeel up", or name another with --scheduler URL';
}
