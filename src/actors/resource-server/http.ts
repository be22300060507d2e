import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Published } from "../../messages/resource.ts";
import type { Clock } from "../../ports/clock.ts";
import { renderMetrics } from "./metrics.ts";

/** A capacity refresh keeps the node healthy for this long, or for three intervals where those are longer. */
const HEALTHY_FOR_MS = 30_000;

/**
 * A request on this socket is a line and a few headers. Whoever takes longer, or keeps more connections open than a
 * node has consumers, is not one.
 */
const HEADERS_DEADLINE_MS = 10_000;
const CONNECTIONS_MAX = 1_000;

export interface ServedState {
  /** The newest answer; null before the cache has published its first. */
  readonly current: () => Published | null;
  readonly intervalMs: number;
  readonly clock: Clock;
}

const JSON_TYPE = "application/json";
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The HTTP server of `GET /resource`, `/healthz` and `/metrics`. Nothing is sampled or asked while it answers. */
export function createResourceHttpServer(state: ServedState): Server {
  const server = createServer(
    { headersTimeout: HEADERS_DEADLINE_MS, requestTimeout: HEADERS_DEADLINE_MS },
    (request, response) => {
      // Bodies mean nothing here, but an unread one would block the connection's next request.
      request.resume();
      route(state, request, response);
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  return server;
}

function route(state: ServedState, request: IncomingMessage, response: ServerResponse): void {
  const path = request.url?.split("?", 1)[0];
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
  renderMetrics(published, state.clock.monotonicMs()).then(
    (text) => send(response, 200, METRICS_TYPE, text),
    () => sendError(response, 500, "internal", "the metrics could not be rendered"),
  );
}

function sendHealth({ clock, intervalMs }: ServedState, { capacityAtMs }: Published, response: ServerResponse): void {
  const healthyForMs = Math.max(HEALTHY_FOR_MS, 3 * intervalMs);
  const ageMs = capacityAtMs === null ? null : clock.monotonicMs() - capacityAtMs;
  if (ageMs !== null && ageMs <= healthyForMs) return send(response, 200, JSON_TYPE, '{"status":"ok"}');
  const since = ageMs === null ? "ever" : `for ${Math.round(ageMs / 1000)} s`;
  sendError(response, 503, "unavailable", `the node's capacity could not be read ${since}`);
}

function sendError(response: ServerResponse, status: number, code: string, message: string): void {
  send(response, status, JSON_TYPE, JSON.stringify({ error: { code, message, details: {} } }));
}

/** Node leaves the body out by itself when the request was a HEAD, and keeps the length. */
function send(response: ServerResponse, status: number, type: string, body: Uint8Array | string): void {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) });
  response.end(body);
}
