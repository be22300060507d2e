import type { Caller } from "../../messages/callers.ts";
import type { AnswerOf, EndpointName, InputOf } from "../../messages/http/endpoints.ts";
import type { Reply } from "../../messages/placement.ts";

/** What a handler gives the server: what to answer, and whom to tell when that could not be delivered. */
export type Handled<Answer> = Reply<Answer> & { readonly undelivered?: () => void };

/** One per endpoint of the table, under its name. The caller is one that the table admits. */
export type Handlers = {
  readonly [Name in EndpointName]: (input: InputOf<Name>, caller: Caller) => Promise<Handled<AnswerOf<Name>>>;
};

/** An answer made of another one; a refusal stays as it is. */
export function mapReply<From, To>(reply: Reply<From>, map: (answer: From) => To): Reply<To> {
  return reply.ok ? { ok: true, answer: map(reply.answer) } : reply;
}
