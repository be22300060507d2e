/** The scheduler's HTTP server: the table of endpoints on Fastify. */
import { METHODS, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { type ErrorCode, refuse } from "../../messages/errors.ts";
import { ENDPOINTS, type Endpoint, type EndpointName } from "../../messages/http/endpoints.ts";
import { problemOf } from "../../messages/http/problem.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../kernel/actor.ts";
import { describeThrown } from "../kernel/outcome.ts";
import type { Handled, Handlers } from "./handled.ts";
import { acceptJsonBodies } from "./json-body.ts";
import { serialiserSchemaOf } from "./json-schema.ts";
import { createOpenApiDocument } from "./openapi.ts";
import { NO_SUCH_PATH, refusalOfError, sendRefusal, wrongMethod } from "./problems.ts";
import { validatorOf } from "./validation.ts";

export interface HttpServerOptions {
  readonly handlers: Handlers;
  readonly metrics: { readonly contentType: string; text(request: { readonly byNode: boolean }): Promise<string> };
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface HttpServer {
  readonly app: FastifyInstance;
  /** The address that it really listens on. Rejects with the system's error. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ host: string; port: number }>;
  /** Takes no more requests, answers those that run, and cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** A client that sends a byte now and then must not hold a connection for longer. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the usual 60 s of load balancers, so that they close idle connections before we do. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;
/** An id of 256 bytes, each percent-encoded. */
const PARAMETER_LENGTH_MAX = 768;

export function createHttpServer(options: HttpServerOptions): HttpServer {
  let closing = false;
  const app = fastify({
    logger: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    routerOptions: { maxParamLength: PARAMETER_LENGTH_MAX },
    return503OnClosing: false,
    forceCloseConnections: "idle",
    exposeHeadRoutes: true,
    clientErrorHandler: refuseConnection,
    frameworkErrors: (error, request, reply) => fail(error, request, reply),
  });
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const refusal = refusalOfError(error, request.routeOptions?.bodyLimit ?? 0);
    if (refusal !== null) return sendRefusal(reply, refusal);
    // The route and not the path: a path may hold a token.
    options.log.error({ route: request.routeOptions?.url, reason: describeThrown(error) }, "a request failed");
    return sendRefusal(reply, refuse("internal", "the scheduler failed to handle this call", {}));
  };
  app.setErrorHandler(fail);
  app.setNotFoundHandler((_request, reply) => sendRefusal(reply, NO_SUCH_PATH));
  app.addHook("onRequest", (_request, reply, done) => {
    if (!closing) {
      done();
      return;
    }
    reply.header("connection", "close");
    sendRefusal(reply, refuse("unavailable", "the scheduler is stopping", { retry: "unchanged" }));
  });
  acceptJsonBodies(app);
  addRoutes(app, options);

  return {
    app,
    async listen({ host, port }) {
      await app.listen({ host, port });
      const bound = app.server.address();
      if (bound === null || typeof bound === "string") throw new Error("the HTTP server has no address");
      return { host: bound.address, port: bound.port };
    },
    async close(graceMs) {
      closing = true;
      const cut = options.clock.after(graceMs, () => app.server.closeAllConnections());
      await app.close();
      cut.cancel();
    },
  };
}

function addRoutes(app: FastifyInstance, { handlers, metrics, version }: HttpServerOptions): void {
  // Node's parser knows methods that Fastify does not route by default; on a known path they are wrong, not unknown.
  for (const method of METHODS)
    if (method !== "CONNECT" && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  const methodsOf = new Map<string, string[]>();
  const note = (path: string, method: string): void => {
    methodsOf.set(path, [...(methodsOf.get(path) ?? []), method, ...(method === "GET" ? ["HEAD"] : [])]);
  };
  for (const name of Object.keys(ENDPOINTS) as EndpointName[]) {
    const endpoint: Endpoint = ENDPOINTS[name];
    addEndpoint(app, endpoint, handlers[name] as (input: unknown) => Promise<Handled<unknown>>);
    note(routePath(endpoint.path), endpoint.method.toUpperCase());
  }
  const document = JSON.stringify(createOpenApiDocument(version));
  app.get("/v1/openapi.json", (_request, reply) => reply.type("application/json; charset=utf-8").send(document));
  note("/v1/openapi.json", "GET");
  app.get<{ Querystring: { by_node?: string } }>("/metrics", async (request, reply) => {
    const text = await metrics.text({ byNode: request.query.by_node === "true" });
    return reply.type(metrics.contentType).send(text);
  });
  note("/metrics", "GET");
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

function addEndpoint(
  app: FastifyInstance,
  endpoint: Endpoint,
  handle: (input: unknown) => Promise<Handled<unknown>>,
): void {
  const { method, path, params, query, body, answer, bodyBytesMax } = endpoint;
  const reads = method === "post";
  const schemas = { params, querystring: query, ...(reads ? { body } : {}) };
  app.route({
    method: method.toUpperCase(),
    url: routePath(path),
    bodyLimit: bodyBytesMax,
    schema: { ...schemas, ...(answer === null ? {} : { response: { 200: serialiserSchemaOf(answer) } }) },
    validatorCompiler: ({ httpPart }) => {
      const part = httpPart as keyof typeof schemas;
      return validatorOf(schemas[part] ?? query, part === "querystring" ? "query" : part);
    },
    preValidation: (request, _reply, done) => {
      // A POST without a body says the same as one with an empty object.
      if (reads && request.body === undefined) request.body = {};
      done();
    },
    handler: async (request, reply) => {
      const handled = await handle({ params: request.params, query: request.query, body: request.body });
      if (!handled.ok) return sendRefusal(reply, handled.refusal);
      if (handled.undelivered !== undefined && !watchDelivery(reply, handled.undelivered)) return reply.hijack();
      return answer === null ? reply.code(204).send() : reply.send(handled.answer);
    },
  });
}

/** False when the caller has gone already; otherwise `undelivered` is called should the answer not get through. */
function watchDelivery(reply: FastifyReply, undelivered: () => void): boolean {
  const { raw } = reply;
  if (raw.destroyed || raw.closed || raw.socket?.destroyed === true) {
    undelivered();
    return false;
  }
  raw.once("close", () => {
    if (!raw.writableFinished) undelivered();
  });
  return true;
}

const STATUS_OF_CLIENT_ERROR: Readonly<Record<string, { status: number; code: ErrorCode; message: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, code: "payload_too_large", message: "the request's head is too long" },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: "invalid_argument", message: "the request did not arrive in time" },
};

/** What is not HTTP never becomes a request: the answer is written by hand and the connection ends. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) {
    socket.destroy(error);
    return;
  }
  const known = STATUS_OF_CLIENT_ERROR[error.code ?? ""];
  const { status, code, message } = known ?? { status: 400, code: "invalid_argument", message: "this is not HTTP/1.1" };
  const body = JSON.stringify(problemOf(refuse(code, message, {})));
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
