import type { FastifyInstance } from "fastify";
import { refuse } from "../../messages/errors.ts";
import { RefusalError } from "./validation.ts";

/**
 * JSON and nothing else: other types are refused, which also keeps web pages of other origins from posting to a
 * scheduler on loopback without asking first. An empty body is an empty object. `__proto__` keys are refused.
 */
export function acceptJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, text, done) => {
    if (text.length === 0) {
      done(null, {});
      return;
    }
    // The parser's own message quotes the body, which may hold a token.
    parse(request, text as string, (error: Error | null, body?: unknown) => {
      if (error === null) done(null, body);
      else done(new RefusalError(refuse("invalid_argument", "the body is not valid JSON", { field: "body" })));
    });
  });
}
