/** One call of an endpoint: what it sends is checked, its handler does it, and what came of that is answered. */
import type { FastifyReply } from "fastify";
import type { Refusal } from "../../messages/errors.ts";
import { type Endpoint, nothing } from "../../messages/http/endpoints.ts";
import type { Conclusion, Handled } from "./handled.ts";
import { sendRefusal } from "./problems.ts";
import { compiledValidatorOf, type Validator, validatorOf } from "./validation.ts";

/** The parts of a request that its endpoint reads; those that nothing reads need no check. */
export interface Input {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** Null: it is taken, and each part is now what its schema makes of it. */
export type Check = (input: { -readonly [Part in keyof Input]: unknown }) => Refusal | null;

export function checkOf({ method, params, query, body, hot = false }: Endpoint): Check {
  const checkPart = hot ? compiledValidatorOf : validatorOf;
  const checks: [keyof Input, Validator][] = [];
  if (params !== nothing) checks.push(["params", checkPart(params, "params")]);
  if (method === "post") checks.push(["body", checkPart(body, "body")]);
  if (query !== nothing) checks.push(["query", validatorOf(query, "query")]);
  return (input) => {
    for (const [part, check] of checks) {
      const checked = check(input[part]);
      if (!checked.ok) return checked.refusal;
      input[part] = checked.value;
    }
    return null;
  };
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
