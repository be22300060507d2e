import type { Caller } from "../../messages/callers.ts";
import type { AnswerOf, EndpointName, InputOf } from "../../messages/http/endpoints.ts";
import type { Reply } from "../../messages/placement.ts";

/** What a handler gives the server: what to answer, and whom to tell when that could not be delivered. */
export type Handled<Answer> = Reply<Answer> & { readonly undelivered?: () => void };

/** Where a handler says what came of a call: once, by one of the two, then or later. Neither throws. */
export interface Conclusion<Answer> {
  finish(handled: Handled<Answer>): void;
  /** Something threw that should not have. */
  fail(thrown: unknown): void;
}

/** The caller is one that the table admits. If it throws before it returns, the server calls `conclusion.fail` with that. */
export type Handler<Name extends EndpointName> = (
  input: InputOf<Name>,
  caller: Caller,
  conclusion: Conclusion<AnswerOf<Name>>,
) => void;

/**
 * One per endpoint of the table, under its name. They hand on what came of a call instead of returning a promise of it:
 * the promises on the way of one request, with what they make wait, were a fifteenth of what it cost.
 */
export type Handlers = { readonly [Name in EndpointName]: Handler<Name> };

/** Concludes with what a promise comes to. */
export function conclude<Answer>(promised: Promise<Handled<Answer>>, conclusion: Conclusion<Answer>): void {
  promised.then(
    (handled) => conclusion.finish(handled),
    (thrown: unknown) => conclusion.fail(thrown),
  );
}

/** An answer made of another one; a refusal stays as it is. */
export function mapReply<From, To>(reply: Reply<From>, map: (answer: From) => To): Reply<To> {
  return reply.ok ? { ok: true, answer: map(reply.answer) } : reply;
}
