/** How refusals and Fastify's own errors become the one error body. */
import type { FastifyError, FastifyReply } from "fastify";
import { httpStatusOf, type Refusal, refuse } from "../../messages/errors.ts";
import { problemOf } from "../../messages/http/problem.ts";

/** A full mailbox is worked off within a second, or the process has other troubles. */
const RETRY_AFTER_S = 1;

export function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  if (refusal.code === "overloaded") reply.header("retry-after", String(RETRY_AFTER_S));
  if (refusal.code === "unauthenticated") reply.header("www-authenticate", "Bearer");
  return reply
    .code(httpStatusOf(refusal))
    .type("application/json; charset=utf-8")
    .send(JSON.stringify(problemOf(refusal)));
}

/** What Fastify refuses before a handler is reached; null: nothing that the caller could have done about it. */
export function refusalOfError(error: unknown): Refusal | null {
  switch ((error as Partial<FastifyError>).code) {
    case "FST_ERR_BAD_URL":
      return refuse("invalid_argument", "the path is not valid percent-encoded UTF-8", { field: "path" });
    case "FST_ERR_MAX_PARAM_LENGTH":
      return refuse("invalid_argument", "a name in the path is too long", { field: "path" });
    default:
      return null;
  }
}

export const NO_SUCH_PATH: Refusal = refuse("not_found", "no such path; /v1/openapi.json lists them all", {
  field: "path",
});

/** The 405 of a known path; its code is that of a wrong argument, since the table of codes has none of its own. */
export function wrongMethod(reply: FastifyReply, method: string, allowed: string): FastifyReply {
  const refusal = refuse("invalid_argument", `${method} is not allowed here; use ${allowed}`, { field: "method" });
  return reply
    .code(405)
    .header("allow", allowed)
    .type("application/json; charset=utf-8")
    .send(JSON.stringify(problemOf(refusal)));
}
