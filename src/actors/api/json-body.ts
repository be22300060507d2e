/**
 * JSON in UTF-8 and nothing else: other types are refused, which also keeps web pages of other origins from posting to a
 * scheduler on loopback without asking first. An empty body is an empty object. Names that reach a prototype or stand
 * twice in one object are refused, and so is more than anybody means to send: at 8 MiB, made of the dearest values,
 * parsing and checking would take seconds in which nothing else is answered.
 */
import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { type Refusal, refuse } from "../../messages/errors.ts";
import { excessOf, nestsTooDeep, shapeOf, survey } from "./json-text.ts";

export type Body =
  | { readonly ok: true; readonly value: unknown }
  /** What was sent of it may not have been read: the connection cannot be used again. */
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Reads a request's body whole. `onBody` is called at most once: at once where the head decides, else when the body is
 * there or has grown too long, and never when its sender is gone before.
 */
export function readJsonBody(request: IncomingMessage, bytesMax: number, onBody: (body: Body) => void): void {
  const { headers } = request;
  const length = headers["content-length"];
  const type = headers["content-type"];
  if (type === undefined && headers["transfer-encoding"] === undefined && (length === undefined || length === "0")) {
    onBody(EMPTY);
    return;
  }
  const refusal = refuseHead(headers) ?? (Number(length) > bytesMax ? tooLong(bytesMax) : null);
  if (refusal !== null) {
    onBody({ ok: false, refusal });
    return;
  }
  readBytes(request, bytesMax, (bytes) =>
    onBody(bytes === null ? { ok: false, refusal: tooLong(bytesMax) } : parse(bytes)),
  );
}

const EMPTY: Body = { ok: true, value: {} };

/** Null: more than `bytesMax` have come. */
function readBytes(request: IncomingMessage, bytesMax: number, onBytes: (bytes: Buffer | null) => void): void {
  // Nearly every body comes in one piece.
  let first: Buffer | null = null;
  let pieces: Buffer[] | null = null;
  let bytes = 0;
  let isOver = false;
  request.on("data", (piece: Buffer) => {
    if (isOver) return;
    bytes += piece.length;
    if (bytes > bytesMax) {
      isOver = true;
      onBytes(null);
    } else if (first === null) first = piece;
    else if (pieces === null) pieces = [first, piece];
    else pieces.push(piece);
  });
  request.on("end", () => {
    if (!isOver) onBytes(pieces === null ? (first ?? NO_BYTES) : Buffer.concat(pieces, bytes));
  });
}

const NO_BYTES = Buffer.alloc(0);

function parse(bytes: Buffer): Body {
  const text = bytes.toString();
  if (text.length === 0) return EMPTY;
  // Where a sequence is none of UTF-8, this character stands in the text; it may also have been sent.
  if (text.includes("\ufffd") && !isUtf8(bytes)) return wrongBody("the body is not UTF-8");
  // No sender of JSON may add it (RFC 8259, 8.1), and it is no part of the text.
  if (text.startsWith("\ufeff")) return wrongBody("the body begins with a byte order mark");
  const shape = shapeOf(text);
  if (nestsTooDeep(shape)) return wrongBody("the body is nested too deeply");
  const excess = excessOf(shape);
  if (excess !== null) {
    return { ok: false, refusal: refuse("payload_too_large", `the body has ${excess}`, { field: "body" }) };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, which may hold a token.
    return wrongBody("the body is not valid JSON");
  }
  const { members, reachesPrototype } = survey(value);
  if (reachesPrototype) return wrongBody("the body has a name __proto__, or prototype under constructor; leave it out");
  if (members !== shape.members) return wrongBody("the body has a name twice in one object");
  return { ok: true, value };
}

const JSON_TYPE = "application/json";
const CHARSET = /;\s*charset\s*=\s*"?([^\s";]*)/i;

function refuseHead(headers: IncomingHttpHeaders): Refusal | null {
  const type = headers["content-type"] ?? "";
  // Most say nothing else.
  if (type !== JSON_TYPE) {
    const [essence = ""] = type.split(";", 1);
    if (essence.trim().toLowerCase() !== JSON_TYPE) return wrongHeader("content-type", "must be application/json");
    const [, charset = "utf-8"] = CHARSET.exec(type) ?? [];
    if (!/^utf-?8$/i.test(charset)) return wrongHeader("content-type", "must be application/json in UTF-8");
  }
  if ((headers["content-encoding"] ?? "identity") === "identity") return null;
  return wrongHeader("content-encoding", "must be identity: bodies are not compressed");
}

function tooLong(bytesMax: number): Refusal {
  return refuse("payload_too_large", `the body is longer than ${bytesMax} bytes`, { bytes_max: bytesMax });
}

function wrongHeader(field: string, due: string): Refusal {
  return refuse("invalid_argument", `${field} ${due}`, { field });
}

function wrongBody(message: string): Body {
  return { ok: false, refusal: refuse("invalid_argument", message, { field: "body" }) };
}
