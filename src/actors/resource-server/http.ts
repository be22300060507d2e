import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Published } from "../../messages/resource.ts";
import type { Clock } from "../../ports/clock.ts";
import { renderMetrics } from "./metrics.ts";

/** A capacity refresh keeps the node healthy for this long, or for three intervals where those are longer. */
const HEALTHY_FOR_MS = 30_000;

/** A request on this socket is a line and a few headers. Whoever takes longer is no consumer. */
const HEADERS_DEADLINE_MS = 10_000;
/** Node looks for slow clients only every 30 s unless told. */
const CONNECTIONS_CHECK_MS = 1_000;

export interface ServedState {
  /** The newest answer; null before the cache has published its first. */
  readonly current: () => Published | null;
  readonly intervalMs: number;
  /** Further connections are closed at once. */
  readonly connectionsMax: number;
  readonly clock: Clock;
}

const JSON_TYPE = "application/json";
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The HTTP server of `GET /resource`, `/healthz` and `/metrics`. Nothing is sampled or asked while it answers. */
export function createResourceHttpServer(state: ServedState): Server {
  const metrics = oneRenderingAtATime();
  const server = createServer(
    {
      headersTimeout: HEADERS_DEADLINE_MS,
      requestTimeout: HEADERS_DEADLINE_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      // Nobody else is reached by this socket, whatever name a client calls it by.
      requireHostHeader: false,
    },
    (request, response) => {
      // Bodies mean nothing here, but an unread one would block the connection's next request.
      request.resume();
      route({ ...state, metrics }, request, response);
    },
  );
  server.maxConnections = state.connectionsMax;
  server.on("clientError", refuseUnreadable);
  server.on("connect", (_request, socket) => {
    socket.end(rawError(405, "Method Not Allowed", "allow: GET, HEAD\r\n", METHOD_NOT_ALLOWED));
  });
  return server;
}

interface Routed extends ServedState {
  readonly metrics: (published: Published, nowMs: number) => Promise<string>;
}

/** Clients that ask faster than a page is rendered share it. */
function oneRenderingAtATime(): Routed["metrics"] {
  let rendering: Promise<string> | null = null;
  return (published, nowMs) => {
    rendering ??= renderMetrics(published, nowMs).finally(() => {
      rendering = null;
    });
    return rendering;
  };
}

/** What Node's parser would not take, in the form of our other errors. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable) return void socket.destroy();
  if (error.code === "HPE_HEADER_OVERFLOW") {
    socket.end(rawError(431, "Request Header Fields Too Large", "", ["invalid_argument", "the headers are too long"]));
  } else if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") {
    socket.end(rawError(408, "Request Timeout", "", ["invalid_argument", "the request took too long to arrive"]));
  } else {
    socket.end(rawError(400, "Bad Request", "", ["invalid_argument", "this is not an HTTP request"]));
  }
}

const METHOD_NOT_ALLOWED = ["method_not_allowed", "this path takes GET and HEAD"] as const;

/** A whole answer for where Node gives a bare connection. */
function rawError(status: number, reason: string, headers: string, [code, message]: readonly [string, string]): string {
  const body = errorBody(code, message);
  return `HTTP/1.1 ${status} ${reason}\r\n${headers}content-type: ${JSON_TYPE}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
}

const errorBody = (code: string, message: string): string => JSON.stringify({ error: { code, message, details: {} } });

/** The path of a request target, which may also come in absolute form (RFC 9112, 3.2.2). */
function pathOf(target = ""): string {
  const relative = target.replace(/^https?:\/\/[^/?]*/i, "");
  return relative.split("?", 1)[0] ?? "";
}

function route(state: Routed, request: IncomingMessage, response: ServerResponse): void {
  const path = pathOf(request.url);
  const known = path === "/resource" || path === "/healthz" || path === "/metrics";
  if (!known) return sendError(response, 404, "not_found", "no such path; there are /resource, /healthz and /metrics");
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    return sendError(response, 405, "method_not_allowed", `${path} takes GET and HEAD`);
  }
  const published = state.current();
  if (published === null) return sendError(response, 503, "unavailable", "the first refresh has not finished");
  if (path === "/resource") return send(response, 200, JSON_TYPE, published.body);
  if (path === "/healthz") return sendHealth(state, published, response);
  state.metrics(published, state.clock.monotonicMs()).then(
    (text) => send(response, 200, METRICS_TYPE, text),
    () => sendError(response, 500, "internal", "the metrics could not be rendered"),
  );
}

function sendHealth({ clock, intervalMs }: ServedState, { capacityAtMs }: Published, response: ServerResponse): void {
  const healthyForMs = Math.max(HEALTHY_FOR_MS, 3 * intervalMs);
  const ageMs = capacityAtMs === null ? null : clock.monotonicMs() - capacityAtMs;
  if (ageMs !== null && ageMs <= healthyForMs) return send(response, 200, JSON_TYPE, '{"status":"ok"}');
  const since = ageMs === null ? "has never been read" : `could not be read for ${Math.round(ageMs / 1000)} s`;
  sendError(response, 503, "unavailable", `the node's capacity ${since}; the daemon's log says why`);
}

function sendError(response: ServerResponse, status: number, code: string, message: string): void {
  send(response, status, JSON_TYPE, errorBody(code, message));
}

/** Node leaves the body out by itself when the request was a HEAD, and keeps the length. */
function send(response: ServerResponse, status: number, type: string, body: Uint8Array | string): void {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) });
  response.end(body);
}
