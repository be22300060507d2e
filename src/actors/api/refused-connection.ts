/** What is not the HTTP that one may expect. */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type ErrorCode, type Refusal, refuse } from "../../messages/errors.ts";
import { problemOf } from "../../messages/http/problem.ts";

interface ConnectionRefusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
}

const REFUSALS: Readonly<Record<string, ConnectionRefusal>> = {
  HPE_HEADER_OVERFLOW: { status: 431, code: "payload_too_large", message: "the request's head is too long" },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, code: "payload_too_large", message: "chunk extensions are too long" },
  CONNECT: { status: 405, code: "invalid_argument", message: "this is no proxy" },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: "invalid_argument", message: "the request did not arrive in time" },
};
const NO_HTTP: ConnectionRefusal = { status: 400, code: "invalid_argument", message: "this is not HTTP/1.1" };

/** What never becomes a request: the answer is written by hand, and the connection ends with it. */
export function refuseConnection(error: { readonly code?: string }, socket: Duplex): void {
  if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, code, message } = REFUSALS[error.code ?? ""] ?? NO_HTTP;
  const body = JSON.stringify(problemOf(refuse(code, message, {})));
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    // Whoever does not take the answer, or goes on sending, is not waited for.
    () => socket.destroy(),
  );
}

/** What Node's parser lets pass, of which different readers would make different things; null for nothing. */
export function refuseMalformed({ url = "", headers, httpVersion }: IncomingMessage): Refusal | null {
  if (headers.host === undefined && httpVersion === "1.1") {
    return refuse("invalid_argument", "host is missing", { field: "host" });
  }
  const query = url.indexOf("?");
  if (query < 0 || isDecodable(url.slice(query))) return null;
  return refuse("invalid_argument", "the query is not valid percent-encoded UTF-8", { field: "query" });
}

function isDecodable(text: string): boolean {
  if (!text.includes("%")) return true;
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
