/** One call of an endpoint: what it sends is checked, its handler does it, and what came of that is answered. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Endpoint } from "../../messages/http/endpoints.ts";
import { nothing } from "../../messages/http/endpoints.ts";
import type { Conclusion, Handled } from "./handled.ts";
import { sendRefusal } from "./problems.ts";
import { compiledValidatorOf, type RefusalError, type Validator, validatorOf } from "./validation.ts";

/** The parts of a request that its endpoint reads; those that nothing reads need no check. */
export interface Input {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** What was sent, or why it is not taken. */
export type Read = (request: FastifyRequest) => Input | RefusalError;

export function readerOf({ method, params, query, body, hot = false }: Endpoint): Read {
  const checkOf = hot ? compiledValidatorOf : validatorOf;
  const ofParams = params === nothing ? null : checkOf(params, "params");
  const ofBody = method === "post" ? checkOf(body, "body") : null;
  const ofQuery = query === nothing ? null : validatorOf(query, "query");
  return (request) => {
    const input = { params: request.params, query: request.query, body: request.body };
    return (
      (ofParams === null ? null : takePart(input, "params", ofParams)) ??
      (ofBody === null ? null : takePart(input, "body", ofBody)) ??
      (ofQuery === null ? null : takePart(input, "query", ofQuery)) ??
      input
    );
  };
}

function takePart(input: { -readonly [Part in keyof Input]: unknown }, part: keyof Input, check: Validator) {
  // A POST without a body says the same as one with an empty object.
  const { value, error } = check(part === "body" && input.body === undefined ? {} : input[part]);
  if (error !== undefined) return error;
  input[part] = value;
  return null;
}

/** The answer to one call. It is sent in the turn in which the handler has finished. */
export class Exchange implements Conclusion<unknown> {
  readonly #reply: FastifyReply;
  readonly #hasContent: boolean;

  constructor(reply: FastifyReply, { answer }: Endpoint) {
    this.#reply = reply;
    this.#hasContent = answer !== null;
  }

  finish(handled: Handled<unknown>): void {
    const reply = this.#reply;
    if (!handled.ok) sendRefusal(reply, handled.refusal);
    else if (handled.undelivered !== undefined && !watchDelivery(reply, handled.undelivered)) reply.hijack();
    else if (this.#hasContent) reply.send(handled.answer);
    else reply.code(204).send();
  }

  /** Whatever was thrown becomes an error that the server's own handler logs and answers. */
  fail(thrown: unknown): void {
    this.#reply.send(thrown instanceof Error ? thrown : new Error(String(thrown)));
  }
}

/** False when the caller has gone already; otherwise `undelivered` is called should the answer not get through. */
function watchDelivery({ raw }: FastifyReply, undelivered: () => void): boolean {
  if (raw.destroyed || raw.closed || raw.socket?.destroyed === true) {
    undelivered();
    return false;
  }
  raw.on("close", () => {
    if (!raw.writableFinished) undelivered();
  });
  return true;
}
