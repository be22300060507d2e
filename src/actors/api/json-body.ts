import { isUtf8 } from "node:buffer";
import type { FastifyInstance } from "fastify";
import { refuse } from "../../messages/errors.ts";
import { excessOf, nestsTooDeep, shapeOf, survey } from "./json-text.ts";
import { RefusalError } from "./validation.ts";

/**
 * JSON in UTF-8 and nothing else: other types are refused, which also keeps web pages of other origins from posting to a
 * scheduler on loopback without asking first. An empty body is an empty object. Names that reach a prototype or stand
 * twice in one object are refused, and so is more than anybody means to send: at 8 MiB, made of the dearest values,
 * parsing and checking would take seconds in which nothing else is answered.
 */
export function acceptJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, bytes, done) => {
    const refusal = refuseEncoding(request.headers, bytes as Buffer);
    if (refusal !== null) return done(refusal);
    const text = bytes.toString();
    if (text.length === 0) return done(null, {});
    try {
      done(null, parseBody(text));
    } catch (error) {
      done(error as Error);
    }
  });
}

/** Throws a refusal. */
function parseBody(text: string): unknown {
  const shape = shapeOf(text);
  if (nestsTooDeep(shape)) throw wrongBody("the body is nested too deeply");
  const excess = excessOf(shape);
  if (excess !== null) {
    throw new RefusalError(refuse("payload_too_large", `the body has ${excess}`, { field: "body" }));
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, which may hold a token.
    throw wrongBody("the body is not valid JSON");
  }
  const { members, reachesPrototype } = survey(parsed);
  if (reachesPrototype) throw wrongBody("the body has a name __proto__, or prototype under constructor; leave it out");
  if (members !== shape.members) throw wrongBody("the body has a name twice in one object");
  return parsed;
}

/** The three bytes of UTF-8's mark: no sender of JSON may add it (RFC 8259, 8.1), and it is no part of the text. */
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

function refuseEncoding(
  headers: { readonly "content-type"?: string | undefined; readonly "content-encoding"?: string | undefined },
  bytes: Buffer,
): RefusalError | null {
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") return wrongHeader("content-encoding", "must be identity: bodies are not compressed");
  const [, charset = "utf-8"] = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(headers["content-type"] ?? "") ?? [];
  if (!/^utf-?8$/i.test(charset)) return wrongHeader("content-type", "must be application/json in UTF-8");
  if (!isUtf8(bytes)) return wrongBody("the body is not UTF-8");
  return bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? wrongBody("the body begins with a byte order mark") : null;
}

function wrongHeader(field: string, due: string): RefusalError {
  return new RefusalError(refuse("invalid_argument", `${field} ${due}`, { field }));
}

function wrongBody(message: string): RefusalError {
  return new RefusalError(refuse("invalid_argument", message, { field: "body" }));
}
