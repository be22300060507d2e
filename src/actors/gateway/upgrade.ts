/** WebSocket upgrades: the handshake is forwarded like a request, then bytes pass both ways. */
import { type IncomingMessage, request as requestHttp, STATUS_CODES } from "node:http";
import { request as requestHttps } from "node:https";
import type { Duplex } from "node:stream";
import type { Clock } from "../../ports/clock.ts";
import { parseEndpoint } from "./endpoint.ts";
import { headersForNode } from "./headers.ts";
import type { Locator } from "./locating.ts";
import { bodyOf, type GatewayRefusal, lostAnswer, malformedRequest, refusalOfFailure, STOPPING } from "./refusals.ts";
import { routeOf } from "./routes.ts";
import type { NodeAddress } from "./scheduler.ts";

export interface UpgradeOptions {
  readonly locator: Locator;
  readonly clock: Clock;
  /** How long a node may take to answer the handshake, in milliseconds. */
  readonly answerTimeoutMs: number;
  readonly stopping: () => boolean;
}

export class Upgrades {
  readonly #options: UpgradeOptions;
  readonly #open = new Set<Duplex>();

  constructor(options: UpgradeOptions) {
    this.#options = options;
  }

  /** Upgraded connections and handshakes under way. */
  get open(): number {
    return this.#open.size;
  }

  /** What the server's `upgrade` event gives. Ends the socket in any case. */
  async handle(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    socket.on("error", () => socket.destroy());
    const { locator, stopping } = this.#options;
    if (stopping()) return refuse(socket, STOPPING);
    const target = request.url ?? "/";
    const route = routeOf({ method: request.method ?? "GET", target, headers: request.headers });
    if (route.kind === "malformed") return refuse(socket, malformedRequest(route.message));
    if (route.kind === "create") return refuse(socket, malformedRequest("a create cannot be upgraded"));
    const located = await locator.locate(route);
    if (!located.ok) return refuse(socket, refusalOfFailure(located.failure));
    this.#connect({ request, socket, head, node: located.value, path: locator.pathOf(route, target) });
  }

  /** Cuts what is still open. */
  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #connect({ request, socket, head, node, path }: Handshake): void {
    const { clock, answerTimeoutMs } = this.#options;
    const endpoint = parseEndpoint(node.endpoint);
    if (endpoint === null) return refuse(socket, lostAnswer(502, node.nodeId));
    const headers = headersForNode(request.rawHeaders, clientOf(request));
    const upgrade = { connection: "upgrade", upgrade: request.headers.upgrade ?? "websocket" };
    const send = endpoint.origin.startsWith("https:") ? requestHttps : requestHttp;
    // No agent: the connection is the upgrade's own.
    const outgoing = send(endpoint.origin, { agent: false, path: endpoint.prefix + path, method: request.method });
    for (const [name, value] of Object.entries({ ...headers, ...upgrade })) outgoing.setHeader(name, value);
    let late = false;
    const deadline = clock.after(answerTimeoutMs, () => {
      late = true;
      outgoing.destroy(new Error("late"));
    });
    socket.once("close", () => outgoing.destroy());
    outgoing.on("upgrade", (answer, nodeSocket, nodeHead) => {
      deadline.cancel();
      join({ socket, head, nodeSocket, nodeHead, answerHead: headOf(answer) });
    });
    outgoing.on("response", (answer) => {
      deadline.cancel();
      socket.write(headOf(answer, { closes: true }));
      answer.pipe(socket);
    });
    outgoing.on("error", () => {
      deadline.cancel();
      if (!socket.destroyed && socket.writable) refuse(socket, lostAnswer(late ? 504 : 502, node.nodeId));
    });
    outgoing.end();
  }
}

interface Handshake {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly node: NodeAddress;
  readonly path: string;
}

interface Joined {
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly nodeSocket: Duplex;
  readonly nodeHead: Buffer;
  readonly answerHead: string;
}

/** What each side had sent along with its head goes first; the end of one side is the end of both. */
function join({ socket, head, nodeSocket, nodeHead, answerHead }: Joined): void {
  socket.write(answerHead);
  if (nodeHead.length > 0) socket.write(nodeHead);
  if (head.length > 0) nodeSocket.write(head);
  nodeSocket.on("error", () => socket.destroy());
  nodeSocket.once("close", () => socket.end());
  socket.once("close", () => nodeSocket.destroy());
  nodeSocket.pipe(socket);
  socket.pipe(nodeSocket);
}

/** The head of an answer as it came; `closes`: it is the last on its connection, and has no framing but its end. */
function headOf({ statusCode = 502, statusMessage, rawHeaders }: IncomingMessage, { closes = false } = {}): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage ?? STATUS_CODES[statusCode] ?? ""}`];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (closes && /^(?:connection|keep-alive|transfer-encoding)$/i.test(name)) continue;
    lines.push(`${name}: ${rawHeaders[at + 1]}`);
  }
  if (closes) lines.push("Connection: close");
  return `${lines.join("\r\n")}\r\n\r\n`;
}

function refuse(socket: Duplex, refusal: GatewayRefusal): void {
  socket.end(rawAnswer(refusal));
}

/** An answer for a connection that is no request of the server's any more. */
export function rawAnswer(refusal: GatewayRefusal): string {
  const body = bodyOf(refusal);
  return [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}

function clientOf({ socket }: IncomingMessage): { address: string | null; encrypted: boolean } {
  return { address: socket.remoteAddress ?? null, encrypted: "encrypted" in socket };
}
