/** The gateway's public HTTP server: every path is the nodes', so there is one route, and no body is parsed. */
import { type IncomingMessage, METHODS } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { describeThrown } from "../../messages/thrown.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../kernel/actor.ts";
import { Closer } from "./closing.ts";
import { Creates } from "./create.ts";
import { Forwarder, useReplyFrom } from "./forward.ts";
import { FreshRoutes } from "./fresh-routes.ts";
import { createLocator } from "./locating.ts";
import { createGatewayMetrics, type GatewayMetrics } from "./metrics.ts";
import { createNodeTransport } from "./node-transport.ts";
import { type GatewayRefusal, malformedRequest, STOPPING, sendRefusal } from "./refusals.ts";
import { routeOf } from "./routes.ts";
import type { Scheduler } from "./scheduler.ts";
import { rawAnswer, Upgrades } from "./upgrade.ts";
import { Shutdown } from "./waiting.ts";

export interface GatewayOptions {
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly log: Log;
  readonly attemptsMax: number;
  readonly createTimeoutMs: number;
  readonly answerTimeoutMs: number;
  readonly onExpired: "keep" | "destroy";
  readonly proxyPrefix: string;
  readonly connectionsMax: number;
}

export interface Gateway {
  readonly metrics: GatewayMetrics;
  /** The address that it really listens on. Rejects with the system's error. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ host: string; port: number }>;
  /**
   * Takes no more requests and lets the running ones finish for `drainMs`; then ends them, and closes their reservations.
   * Returns how many closing calls could not be delivered.
   */
  close(drainMs: number): Promise<number>;
}

/** Four times Node's own: bearer tokens and tracing headers add up. */
const HEAD_BYTES_MAX = 64 * 2 ** 10;
/** A head is one packet or a few; a connection that dribbles one in is ended. */
const HEAD_TIMEOUT_MS = 15_000;
/** A whole request, its body included: uploads into sandboxes take long, for ever is an attack. */
const REQUEST_TIMEOUT_MS = 3_600_000;
/** Longer than the usual 60 s of load balancers, so that they close idle connections before we do. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;
/** For marks and answers of what the end of the drain cuts short: one try of the scheduler, and a little. */
const CUT_WITHIN_MS = 3_000;

export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { clock, log } = options;
  let stopping = false;
  const shutdown = new Shutdown();
  const parts = createParts(options, { shutdown, stopping: () => stopping });
  const { creates, forwarder, upgrades, closer, transport, metrics } = parts;
  const app = createApp(log);
  await useReplyFrom(app, transport);
  app.addHook("onRequest", (_request, reply, done) => {
    if (!stopping) return done();
    reply.header("connection", "close");
    sendRefusal(reply, STOPPING);
  });
  closeConnectionsOnceStopping(app, () => stopping);
  app.all("/", async (request: FastifyRequest, reply: FastifyReply) => {
    const { method, originalUrl: target, headers } = request;
    const route = routeOf({ method, target, headers });
    reply.raw.once("finish", () => metrics.answered(route.kind, reply.raw.statusCode));
    switch (route.kind) {
      case "malformed":
        return sendRefusal(reply, malformedRequest(route.message));
      case "create":
        return creates.handle(request, reply, route.create);
      default:
        return forwarder.handle(request, reply, route);
    }
  });
  app.server.maxConnections = options.connectionsMax;
  app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void upgrades.handle(request, socket, head);
  });

  return {
    metrics,
    async listen({ host, port }) {
      await app.listen({ host, port });
      const bound = app.server.address();
      if (bound === null || typeof bound === "string") throw new Error("the gateway has no address");
      return { host: bound.address, port: bound.port };
    },
    async close(drainMs) {
      stopping = true;
      const untilMs = clock.monotonicMs() + drainMs;
      const end = clock.after(drainMs, () => {
        upgrades.cut();
        shutdown.begin();
      });
      const cut = clock.after(drainMs + CUT_WITHIN_MS, () => app.server.closeAllConnections());
      await app.close();
      end.cancel();
      cut.cancel();
      const left = await closer.idle(Math.max(untilMs - clock.monotonicMs(), CUT_WITHIN_MS));
      await transport.close();
      return left;
    },
  };
}

/** Node closes what is idle when the server closes, and waits for what becomes idle later: a drain would never end. */
function closeConnectionsOnceStopping(app: FastifyInstance, stopping: () => boolean): void {
  app.addHook("onSend", (_request, reply, payload, done) => {
    if (stopping()) reply.header("connection", "close");
    done(null, payload);
  });
  // Those whose head had left before.
  app.addHook("onResponse", (_request, _reply, done) => {
    if (stopping()) setImmediate(() => app.server.closeIdleConnections());
    done();
  });
}

interface Stop {
  readonly shutdown: Shutdown;
  readonly stopping: () => boolean;
}

function createParts(options: GatewayOptions, { shutdown, stopping }: Stop) {
  const { scheduler, clock, log, attemptsMax, createTimeoutMs, answerTimeoutMs, onExpired, proxyPrefix } = options;
  const metrics = createGatewayMetrics({
    createsRunning: () => creates.running,
    closingsPostponed: () => closer.postponed,
    upgradesOpen: () => upgrades.open,
  });
  const transport = createNodeTransport();
  const freshRoutes = new FreshRoutes();
  const locator = createLocator({ scheduler, freshRoutes, clock, proxyPrefix });
  const closer = new Closer({ scheduler, freshRoutes, clock, log, metrics });
  const creates = new Creates({
    scheduler,
    transport,
    closer,
    metrics,
    clock,
    log,
    attemptsMax,
    createTimeoutMs,
    onExpired,
    shutdown,
  });
  const forwarder = new Forwarder({ locator, transport, closer, clock, answerTimeoutMs, shutdown });
  const upgrades = new Upgrades({ locator, clock, answerTimeoutMs, stopping });
  return { metrics, transport, closer, creates, forwarder, upgrades };
}

function createApp(log: Log): FastifyInstance {
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    log.error({ method: request.method, reason: describeThrown(error) }, "a request failed");
    return sendRefusal(reply, { status: 500, code: "internal", message: "the gateway failed to handle this request" });
  };
  const app = fastify({
    logger: false,
    http: {
      maxHeaderSize: HEAD_BYTES_MAX,
      headersTimeout: HEAD_TIMEOUT_MS,
      // Others, such as h2c, are requests like any: their upgrade is an offer that nobody takes.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
    },
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    return503OnClosing: false,
    forceCloseConnections: "idle",
    exposeHeadRoutes: false,
    clientErrorHandler: refuseConnection,
    frameworkErrors: (error, request, reply) => void fail(error, request, reply),
    // The router decodes paths; ours are the nodes' to read.
    rewriteUrl: () => "/",
  });
  for (const method of METHODS) {
    if (method !== "CONNECT") app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  app.setErrorHandler(fail);
  return app;
}

const CLIENT_ERRORS: Readonly<Record<string, GatewayRefusal>> = {
  HPE_HEADER_OVERFLOW: { status: 431, code: "payload_too_large", message: "the request's head is too long" },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: "invalid_argument", message: "the request did not arrive in time" },
};

/** What is not HTTP never becomes a request. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) {
    socket.destroy(error);
    return;
  }
  socket.end(rawAnswer(CLIENT_ERRORS[error.code ?? ""] ?? malformedRequest("this is not HTTP/1.1")));
}
