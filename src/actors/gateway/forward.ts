/** Requests that create nothing: to their node and back, streaming both ways, with `@fastify/reply-from`. */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import replyFrom, { type FastifyReplyFromOptions } from "@fastify/reply-from";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Dispatcher } from "undici";
import type { Clock } from "../../ports/clock.ts";
import type { Closer } from "./closing.ts";
import { parseEndpoint } from "./endpoint.ts";
import { headersForClient, headersForNode } from "./headers.ts";
import type { ForwardedRoute, Locator } from "./locating.ts";
import type { NodeTransport } from "./node-transport.ts";
import { lostAnswer, refusalOfFailure, sendRefusal } from "./refusals.ts";
import type { NodeAddress } from "./scheduler.ts";
import { type Shutdown, waitAtMost } from "./waiting.ts";

export interface ForwarderOptions {
  readonly locator: Locator;
  readonly transport: NodeTransport;
  readonly closer: Closer;
  readonly clock: Clock;
  /** How long a node may take until its answer begins, in milliseconds. */
  readonly answerTimeoutMs: number;
  readonly shutdown: Shutdown;
}

/**
 * reply-from builds a URL of its own, which rewrites dot segments and raw characters and fails on percent signs that
 * encode nothing; it takes no signal, and no body with a GET. What it must not touch travels past it under this key.
 */
const EXACTLY = Symbol("exactly");

interface Exactly {
  readonly path: string;
  readonly body: IncomingMessage | null;
  readonly signal: AbortSignal;
}

type Answered = (error: Error | null, answer: Dispatcher.ResponseData) => void;
type PassedHeaders = Record<string, string | string[]> & { [EXACTLY]?: Exactly };

/** Loads reply-from into the server, on the connections of the transport. */
export async function useReplyFrom(app: FastifyInstance, { agent }: NodeTransport): Promise<void> {
  const request = (options: Dispatcher.RequestOptions, done: Answered): void => {
    const { [EXACTLY]: exactly, ...headers } = options.headers as PassedHeaders;
    agent.request({ ...options, ...exactly, headers }, done);
  };
  // It asks no more of undici than this one function; its types ask for the whole of it, and for another version.
  const undici = { request } as unknown as NonNullable<FastifyReplyFromOptions["undici"]>;
  await app.register(replyFrom, { undici, disableRequestLogging: true, disableCache: true });
}

export class Forwarder {
  readonly #options: ForwarderOptions;

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  async handle(request: FastifyRequest, reply: FastifyReply, route: ForwardedRoute): Promise<FastifyReply> {
    const { locator, shutdown } = this.#options;
    const client = shutdown.waitForClient(reply);
    const located = await locator.locate(route);
    if (client.signal.aborted && reply.raw.destroyed) return reply.hijack();
    if (!located.ok) return sendRefusal(reply, refusalOfFailure(located.failure));
    return this.#forward(request, reply, { route, node: located.value, client: client.signal });
  }

  #forward(
    request: FastifyRequest,
    reply: FastifyReply,
    { route, node, client }: { route: ForwardedRoute; node: NodeAddress; client: AbortSignal },
  ): FastifyReply {
    const { locator, clock, answerTimeoutMs } = this.#options;
    const endpoint = parseEndpoint(node.endpoint);
    if (endpoint === null) return sendRefusal(reply, lostAnswer(502, node.nodeId));
    const deadline = waitAtMost({ signal: client }, answerTimeoutMs, clock);
    const { raw } = request;
    const exactly: Exactly = {
      path: endpoint.prefix + locator.pathOf(route, request.originalUrl),
      body: hasBody(raw) ? raw : null,
      signal: deadline.signal,
    };
    const from = { address: raw.socket.remoteAddress ?? null, encrypted: request.protocol === "https" };
    return reply.from("/", {
      getUpstream: () => endpoint.origin,
      rewriteRequestHeaders: () => {
        const headers: PassedHeaders = headersForNode(raw.rawHeaders, from);
        headers[EXACTLY] = exactly;
        return headers as never;
      },
      rewriteHeaders: (headers) => headersForClient(headers) as never,
      // Nothing is sent twice: not even a read, whose repeat could meet another state.
      retryDelay: () => null,
      onResponse: (_request, _reply, answer) => {
        deadline.lift();
        void this.#answer(reply, route, (answer as unknown as { stream: Readable }).stream);
      },
      onError: (failed) => {
        deadline.lift();
        if (reply.raw.destroyed) return void reply.hijack();
        const status = deadline.signal.reason === "timeout" ? 504 : 502;
        sendRefusal(failed as unknown as FastifyReply, lostAnswer(status, node.nodeId));
      },
    }) as unknown as FastifyReply;
  }

  /** A deleted sandbox is released before its client hears of it: what it held is free for its next create. */
  async #answer(reply: FastifyReply, route: ForwardedRoute, body: Readable): Promise<void> {
    const { statusCode } = reply;
    const gone = (statusCode >= 200 && statusCode < 300) || statusCode === 404;
    if (route.kind === "sandbox" && route.deletes && gone) await this.#options.closer.releaseSandbox(route.sandboxId);
    reply.send(body);
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}
