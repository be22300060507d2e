/** Answers to what never becomes a request, written by hand; the connection ends with them. */
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type ErrorCode, refuse } from "../../messages/errors.ts";
import { problemOf } from "../../messages/http/problem.ts";

interface ConnectionRefusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
}

const REFUSALS: Readonly<Record<string, ConnectionRefusal>> = {
  HPE_HEADER_OVERFLOW: { status: 431, code: "payload_too_large", message: "the request's head is too long" },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, code: "payload_too_large", message: "chunk extensions are too long" },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: "invalid_argument", message: "the request did not arrive in time" },
};
const NO_HTTP: ConnectionRefusal = { status: 400, code: "invalid_argument", message: "this is not HTTP/1.1" };

export function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) {
    socket.destroy(error);
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
