/** Sends requests to nodes over kept connections, and tells whether a byte of them can have arrived. */
import type { Readable } from "node:stream";
import { Agent, type Dispatcher } from "undici";
import { describeThrown } from "../../messages/thrown.ts";
import { parseEndpoint } from "./endpoint.ts";
import { type Headers, headersForClient } from "./headers.ts";
import type { LostWhy } from "./outcome.ts";
import type { NodeAddress } from "./scheduler.ts";

/** A node in the same network answers a connection attempt within milliseconds, or not at all. */
const CONNECT_TIMEOUT_MS = 5_000;
/** As long as most runtimes keep an idle connection; undici also heeds a shorter one that they announce. */
const KEEP_ALIVE_MS = 4_000;

/** Longer than any error page; beyond it a new connection is cheaper. */
const DISCARDED_BYTES_MAX = 64 * 2 ** 10;

export interface NodeRequest {
  readonly node: NodeAddress;
  readonly method: string;
  /** With the query, as it goes on the wire. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Buffer | Readable | null;
  /** Aborted with a `LostWhy` when the answer is not waited for any longer. */
  readonly signal: AbortSignal;
}

export interface NodeAnswer {
  readonly status: number;
  /** As the node sent them, without those of this hop. */
  readonly headers: Headers;
  readonly body: Readable;
  /** For an answer that nobody wants the body of. A short one is read, so that its connection can be kept. */
  discard(): void;
  readonly byProxy: { readonly via?: unknown; readonly server?: unknown };
}

export type Sent =
  | { readonly kind: "answered"; readonly answer: NodeAnswer }
  | { readonly kind: "unsent"; readonly why: string }
  | { readonly kind: "lost"; readonly why: LostWhy; readonly detail: string };

interface WatchedOptions extends Dispatcher.RequestOptions {
  /** Called when the request begins to be written, before its first byte. */
  readonly onStart?: () => void;
}

export interface NodeTransport {
  /** Never rejects. */
  send(request: NodeRequest): Promise<Sent>;
  /** Under the same connections: what `@fastify/reply-from` forwards with. */
  readonly agent: Dispatcher;
  close(): Promise<void>;
}

export function createNodeTransport(): NodeTransport {
  const agent = new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS },
    keepAliveTimeout: KEEP_ALIVE_MS,
    // How long an answer may take is the caller's to say; a stream may be silent for hours.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const watched = agent.compose((dispatch) => (options, handler) => {
    const { onStart } = options as WatchedOptions;
    return dispatch(options, onStart === undefined ? handler : startsWith(onStart, handler));
  });
  return {
    agent,
    send: (request) => send(watched, request),
    close: () => agent.destroy(),
  };
}

async function send(agent: Dispatcher, request: NodeRequest): Promise<Sent> {
  const { node, method, path, headers, body, signal } = request;
  const endpoint = parseEndpoint(node.endpoint);
  if (endpoint === null) return { kind: "unsent", why: "the node has no usable endpoint" };
  let started = false;
  const onStart = (): void => {
    started = true;
  };
  const options: WatchedOptions = {
    origin: endpoint.origin,
    path: endpoint.prefix + path,
    method,
    headers,
    body,
    signal,
    onStart,
  };
  try {
    const { statusCode, headers: answered, body: answer } = await agent.request(options);
    // It can break while it waits for the confirm, and nobody listens yet; whoever reads it is told then.
    answer.on("error", () => undefined);
    return {
      kind: "answered",
      answer: {
        status: statusCode,
        headers: headersForClient(answered),
        body: answer,
        discard: () => void answer.dump({ limit: DISCARDED_BYTES_MAX }).catch(() => undefined),
        byProxy: { via: answered.via, server: answered.server },
      },
    };
  } catch (thrown) {
    if (!started) return { kind: "unsent", why: describeThrown(thrown) };
    const why = signal.aborted ? (signal.reason as LostWhy) : "reset";
    return { kind: "lost", why, detail: describeThrown(thrown) };
  }
}

/** The handler with one more listener to its first call. */
function startsWith(onStart: () => void, handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller, context) {
      onStart();
      handler.onRequestStart?.(controller, context);
    },
    onRequestUpgrade: (...given) => handler.onRequestUpgrade?.(...given),
    onResponseStart: (...given) => handler.onResponseStart?.(...given),
    onResponseData: (...given) => handler.onResponseData?.(...given),
    onResponseEnd: (...given) => handler.onResponseEnd?.(...given),
    onResponseError: (...given) => handler.onResponseError?.(...given),
  };
}
