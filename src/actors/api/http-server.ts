/** The scheduler's HTTP server: the table of endpoints on Fastify. */
import { createServer, METHODS, type RequestListener, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { ANYBODY, type Caller, refuseCaller, refuseNode } from "../../messages/callers.ts";
import { type Refusal, refuse } from "../../messages/errors.ts";
import { ENDPOINTS, type Endpoint, type EndpointName } from "../../messages/http/endpoints.ts";
import { describeThrown } from "../../messages/thrown.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../kernel/actor.ts";
import { type Bounds, usualBounds } from "./bounds.ts";
import { checkOf, Exchange, type Input } from "./exchange.ts";
import type { Conclusion, Handlers } from "./handled.ts";
import { inTurn } from "./in-turn.ts";
import { readJsonBody } from "./json-body.ts";
import { serialiserSchemaOf } from "./json-schema.ts";
import type { Metrics } from "./metrics.ts";
import { createOpenApiDocument } from "./openapi.ts";
import { NO_SUCH_PATH, refusalOfError, sendRefusal, wrongMethod } from "./problems.ts";
import { refuseConnection, refuseMalformed } from "./refused-connection.ts";
import type { SharedConnections } from "./shared-connections.ts";
import { dropStalled } from "./stalled-connections.ts";
import type { Tls } from "./tls.ts";
import { type Gate, openGate } from "./tokens.ts";

/** Who is let in, and how many at a time. */
export interface Access {
  readonly gate: Gate;
  /** Null: plain text. */
  readonly tls: Tls | null;
  readonly bounds: Bounds;
  /** Absent: no other server of this process takes connections on the same port. */
  readonly connections?: SharedConnections;
}

/** Everybody, in plain text: for a server that only this machine can reach. */
export const openAccess: Access = { gate: openGate, tls: null, bounds: usualBounds };

export interface HttpServerOptions {
  readonly handlers: Handlers;
  /** Null: none are kept, and `/metrics` is a path that does not exist. */
  readonly metrics: Metrics | null;
  readonly version: string;
  readonly access: Access;
  readonly clock: Clock;
  readonly log: Log;
}

/** The HTTP API, wherever it is served. */
export interface HttpApi {
  /** The address that it really listens on. Rejects with the system's error. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ host: string; port: number }>;
  /** Takes no more requests, answers those that run, and cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export interface HttpServer extends HttpApi {
  readonly app: FastifyInstance;
  /** With `reusePort`, beside other servers of this user that ask for the same. */
  listen(address: {
    readonly host: string;
    readonly port: number;
    readonly reusePort?: boolean;
  }): Promise<{ host: string; port: number }>;
}

/** An id of 256 bytes, each percent-encoded. */
const PARAMETER_LENGTH_MAX = 768;

/** How often a server that closes looks for connections that have nothing left to answer. */
const IDLE_LOOK_MS = 20;

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { clock, access } = options;
  let closing = false;
  const fail = failing(options.log);
  const app = fastify({
    logger: false,
    serverFactory: (listener) => {
      const server = createNodeServer(access, listener);
      dropStalled(server, access.bounds, clock);
      return server;
    },
    routerOptions: { maxParamLength: PARAMETER_LENGTH_MAX },
    return503OnClosing: false,
    forceCloseConnections: "idle",
    exposeHeadRoutes: true,
    clientErrorHandler: refuseConnection,
    frameworkErrors: fail,
  });
  app.setErrorHandler(fail);
  app.setNotFoundHandler((_request, reply) => sendRefusal(reply, NO_SUCH_PATH));
  app.addHook("onRequest", (request, reply, done) => {
    const refusal = refuseMalformed(request.raw) ?? (closing ? STOPPING : null);
    if (refusal === null) done();
    else sendRefusal(reply.header("connection", "close"), refusal);
  });
  app.decorateRequest("caller", null);
  // Bodies are read by whoever wants one.
  app.removeAllContentTypeParsers();
  addRoutes(app, options);

  return {
    app,
    async listen({ host, port, reusePort = false }) {
      // Fastify hands what it does not know on to Node's server.
      const address = { host, port, reusePort };
      await app.listen(address);
      const bound = app.server.address();
      if (bound === null || typeof bound === "string") throw new Error("the HTTP server has no address");
      return { host: bound.address, port: bound.port };
    },
    async close(graceMs) {
      closing = true;
      await closeWithin(app, graceMs, clock);
    },
  };
}

const STOPPING: Refusal = refuse("unavailable", "the scheduler is stopping", { retry: "unchanged" });

/** Answers a request that ended with an error. */
function failing(log: Log): (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply {
  return (error, request, reply) => {
    const refusal = refusalOfError(error);
    if (refusal !== null) return sendRefusal(reply, refusal);
    // The route and not the path: a path may hold a token.
    log.error({ route: request.routeOptions?.url, reason: describeThrown(error) }, "a request failed");
    return sendRefusal(reply, refuse("internal", "the scheduler failed to handle this call", {}));
  };
}

async function closeWithin(app: FastifyInstance, graceMs: number, clock: Clock): Promise<void> {
  const cut = clock.after(graceMs, () => app.server.closeAllConnections());
  // A connection whose answer ends from now on is kept alive, and would hold this up for all of the grace.
  const letGoOfIdle = (): void => {
    app.server.closeIdleConnections();
    look = clock.after(IDLE_LOOK_MS, letGoOfIdle);
  };
  let look = clock.after(IDLE_LOOK_MS, letGoOfIdle);
  await app.close();
  look.cancel();
  cut.cancel();
}

declare module "fastify" {
  interface FastifyRequest {
    /** Whoever the gate says it is; null on paths that ask nobody. */
    caller: Caller | null;
  }
}

function createNodeServer({ tls, bounds, connections }: Access, handle: RequestListener): Server {
  const listener = inTurn(handle);
  const options = {
    maxHeaderSize: bounds.headBytesMax,
    headersTimeout: bounds.headWithinMs,
    requestTimeout: bounds.requestWithinMs,
    keepAliveTimeout: bounds.idleMs,
    connectionsCheckingInterval: bounds.checkedEveryMs,
    // Node's own refusal has no body.
    requireHostHeader: false,
  };
  const secure =
    tls === null ? null : createSecureServer({ ...options, ...tls.serverOptions, ...tls.context }, listener);
  tls?.onChange((context) => secure?.setSecureContext(context));
  const server = secure ?? createServer(options, listener);
  server.on("checkExpectation", listener);
  server.on("connect", (_request, socket) => refuseConnection({ code: "CONNECT" }, socket));
  server.maxConnections = bounds.connectionsMax;
  connections?.watch(server);
  return server;
}

function addRoutes(app: FastifyInstance, { handlers, metrics, version, access }: HttpServerOptions): void {
  // Node's parser knows methods that Fastify does not route by default; on a known path they are wrong, not unknown.
  for (const method of METHODS)
    if (method !== "CONNECT" && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  const methodsOf = new Map<string, string[]>();
  const note = (path: string, method: string): void => {
    methodsOf.set(path, [...(methodsOf.get(path) ?? []), method, ...(method === "GET" ? ["HEAD"] : [])]);
  };
  for (const name of Object.keys(ENDPOINTS) as EndpointName[]) {
    const endpoint: Endpoint = ENDPOINTS[name];
    addEndpoint(app, { endpoint, gate: access.gate, handle: handlers[name] as Route["handle"] });
    note(routePath(endpoint.path), endpoint.method.toUpperCase());
  }
  const document = JSON.stringify(createOpenApiDocument(version, { metrics: metrics !== null }));
  app.get("/v1/openapi.json", (_request, reply) => reply.type("application/json; charset=utf-8").send(document));
  note("/v1/openapi.json", "GET");
  if (metrics !== null) {
    app.get<{ Querystring: { by_node?: string } }>("/metrics", async (request, reply) => {
      const text = await metrics.text({ byNode: request.query.by_node === "true" });
      return reply.type(metrics.contentType).send(text);
    });
    note("/metrics", "GET");
  }
  for (const [path, allowed] of methodsOf) {
    const others = app.supportedMethods.filter((method) => !allowed.includes(method));
    // Before the body is read: nobody wants it.
    const refuseMethod = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
      wrongMethod(reply, request.method, allowed.join(", "));
    app.route({
      method: others,
      url: path,
      onRequest: async (request, reply) => refuseMethod(request, reply),
      handler: refuseMethod,
    });
  }
}

/** `/v1/nodes/{node_id}` as Fastify writes it. */
function routePath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

interface Route {
  readonly endpoint: Endpoint;
  readonly gate: Gate;
  readonly handle: (input: Input, caller: Caller, conclusion: Conclusion<unknown>) => void;
}

/**
 * Everything is done in the first hook. From there Fastify would lead a request through a parser of bodies that keeps an
 * asynchronous context, hooks and checks that are not used here, and a promise, at a tenth of what a call costs.
 */
function addEndpoint(app: FastifyInstance, { endpoint, gate, handle }: Route): void {
  const { method, path, answer, bodyBytesMax } = endpoint;
  const check = checkOf(endpoint);
  const run = (request: FastifyRequest, reply: FastifyReply, body: unknown): void => {
    const exchange = new Exchange(reply, endpoint);
    try {
      const input = { params: request.params, query: request.query, body };
      const refusal = check(input);
      if (refusal === null) handle(input, request.caller ?? ANYBODY, exchange);
      else sendRefusal(reply, refusal);
    } catch (thrown) {
      exchange.fail(thrown);
    }
  };
  app.route({
    method: method.toUpperCase(),
    url: routePath(path),
    schema: answer === null ? {} : { response: { 200: serialiserSchemaOf(answer) } },
    onRequest: (request, reply, _done) => {
      // Before the body is read: what a stranger sends costs no more than its head.
      const refusal = admit(gate, endpoint, request);
      if (refusal !== null) sendRefusal(reply, refusal);
      else if (method !== "post") run(request, reply, undefined);
      else {
        readJsonBody(request.raw, bodyBytesMax, (body) => {
          if (body.ok) run(request, reply, body.value);
          else sendRefusal(reply.header("connection", "close"), body.refusal);
        });
      }
    },
    handler: () => {
      throw new Error("the hook before it has answered");
    },
  });
}

/** Notes who calls. Null when they may, else the refusal. */
function admit(gate: Gate, { callers }: Endpoint, request: FastifyRequest): Refusal | null {
  if (callers === "anyone") return null;
  const admission = gate.admit(request.headers.authorization);
  if (!admission.ok) return admission.refusal;
  const { caller } = admission;
  request.caller = caller;
  const { node_id: nodeId } = request.params as { readonly node_id?: string };
  return refuseCaller(caller, callers) ?? (nodeId === undefined ? null : refuseNode(caller, nodeId));
}
