/**
 * A node that does what the header `x-stub` tells it: `201` unless named there, as in `x-stub: node-a=503,node-b=201`.
 * It heartbeats when it is told to, so that a test decides when the scheduler learns what.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { WebSocketServer } from "ws";

const [, , nodeId = "", scheduler = "", cpuCount = "64"] = process.argv;
const MEMORY_BYTES = 256 * 2 ** 30;
const BIG_BYTES = 20 * 2 ** 20;
const CHUNK_PAUSE_MS = 40;

interface Sandbox {
  readonly cpu: number;
  readonly memoryBytes: number;
}

const sandboxes = new Map<string, Sandbox>();
const seen: object[] = [];
const held = new Set<() => void>();
let sequence = 0;
let made = 0;
let closesConnections = false;

function behaviourOf(request: IncomingMessage): string {
  const wanted = String(request.headers["x-stub"] ?? "201").split(",");
  const named = wanted.find((each) => each.startsWith(`${nodeId}=`));
  return named?.slice(nodeId.length + 1) ?? wanted.find((each) => !each.includes("=")) ?? "201";
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Every byte depends on its place. */
function bigAnswer(): Buffer {
  const bytes = Buffer.alloc(BIG_BYTES);
  for (let at = 0; at < BIG_BYTES; at += 4) bytes.writeUInt32LE(Math.imul(at, 0x9e3779b1) >>> 0, at);
  return bytes;
}

function bring(request: IncomingMessage, body: Buffer): string {
  made += 1;
  const id = String(request.headers["x-wanted-id"] ?? `${nodeId}-sandbox-${made}`);
  let asked: { cpuCount?: number; memoryMB?: number } = {};
  try {
    asked = JSON.parse(body.toString("utf8"));
  } catch {
    // Whoever sends no JSON gets the smallest sandbox.
  }
  sandboxes.set(id, { cpu: asked.cpuCount ?? 1, memoryBytes: (asked.memoryMB ?? 1024) * 2 ** 20 });
  return id;
}

function json(response: ServerResponse, status: number, answer: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(answer));
}

function answerCreate(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const behaviour = behaviourOf(request);
  switch (behaviour) {
    case "201":
      return json(response, 201, { node: nodeId }, { "x-agentenv-sandbox-id": bring(request, body) });
    case "201-e2b":
      return json(response, 201, { node: nodeId }, { "e2b-sandbox-id": bring(request, body) });
    case "201-body":
      return json(response, 201, { sandboxID: bring(request, body), node: nodeId });
    case "201-gzip": {
      const packed = gzipSync(JSON.stringify({ id: bring(request, body), node: nodeId }));
      response.writeHead(201, { "content-type": "application/json", "content-encoding": "gzip" }).end(packed);
      return;
    }
    case "201-nameless":
      bring(request, body);
      return json(response, 201, { node: nodeId });
    case "201-broken":
      bring(request, body);
      response.writeHead(201, { "content-type": "application/json", "content-length": "1000" });
      response.write('{"sandboxID":', () => response.socket?.destroy());
      return;
    case "201-big":
      response.writeHead(201, { "x-agentenv-sandbox-id": bring(request, body), "content-length": String(BIG_BYTES) });
      response.end(bigAnswer());
      return;
    case "201-big-nameless":
      bring(request, body);
      response.writeHead(201).end(bigAnswer());
      return;
    case "201-chunks":
      return sendSlowly(response, [..."slowly"], { "x-agentenv-sandbox-id": bring(request, body) });
    case "201-body-chunks":
      return sendSlowly(response, ['{"sand', 'box_id":"', bring(request, body), '"}'], {});
    case "503-via":
      return json(response, 503, { by: "proxy" }, { via: "1.1 edge" });
    case "503-nginx":
      return json(response, 503, { by: "proxy" }, { server: "nginx/1.27.0" });
    case "silent":
      held.add(() => undefined);
      return;
    case "held":
      held.add(() => json(response, 201, { node: nodeId }, { "x-agentenv-sandbox-id": bring(request, body) }));
      return;
    case "reset":
      request.socket.resetAndDestroy();
      return;
    case "created-then-reset":
      bring(request, body);
      request.socket.resetAndDestroy();
      return;
    default:
      return json(response, Number(behaviour), { node: nodeId, said: behaviour });
  }
}

function sendSlowly(response: ServerResponse, chunks: readonly string[], headers: Record<string, string>): void {
  response.writeHead(201, headers);
  const [next, ...rest] = chunks;
  const send = (chunk: string | undefined, left: readonly string[]): void => {
    if (chunk === undefined) return void response.end();
    response.write(chunk);
    const [following, ...others] = left;
    setTimeout(() => send(following, others), CHUNK_PAUSE_MS);
  };
  send(next, rest);
}

async function report(): Promise<number> {
  const running = [...sandboxes.values()];
  sequence += 1;
  const response = await fetch(`${scheduler}/v1/nodes/${nodeId}/heartbeat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      service_instance_id: `${nodeId}-runtime`,
      endpoint: `127.0.0.1:${(server.address() as { port: number }).port}`,
      sequence,
      sandbox_ids: [...sandboxes.keys()],
      snapshot: {
        cpu_count: Number(cpuCount),
        memory_total_bytes: MEMORY_BYTES,
        sandbox_count: running.length,
        allocated_cpu: running.reduce((sum, { cpu }) => sum + cpu, 0),
        allocated_memory_bytes: running.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
        create_successes: made,
      },
    }),
  });
  return response.status;
}

async function control(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  switch (path) {
    case "/control/report":
      return json(response, 200, { status: await report() });
    case "/control/seen":
      return json(response, 200, seen.splice(0));
    case "/control/sandboxes":
      return json(response, 200, [...sandboxes.keys()]);
    case "/control/held":
      return json(response, 200, { held: held.size });
    case "/control/release":
      for (const release of held) release();
      held.clear();
      return json(response, 200, {});
    case "/control/clear":
      sandboxes.clear();
      return json(response, 200, {});
    case "/control/close-connections":
      closesConnections = true;
      return json(response, 200, {}, { connection: "close" });
    default:
      return json(response, 404, { url: request.url });
  }
}

const server = createServer({ maxHeaderSize: 64 * 2 ** 10 }, async (request, response) => {
  const { method = "GET", url = "/", rawHeaders } = request;
  try {
    if (url.startsWith("/control/")) return await control(url, request, response);
    if (method === "POST" && behaviourOf(request) === "early-413") {
      return json(response, 413, { node: nodeId }, { connection: "close" });
    }
    const body = await bodyOf(request);
    const sha256 = createHash("sha256").update(body).digest("hex");
    const noted = { node: nodeId, method, url, rawHeaders, bodyBytes: body.length, sha256 };
    seen.push(noted);
    const create = method === "POST" && /^\/sandboxes(?:-cold)?(?:\?|$)/.test(url);
    if (create) return answerCreate(request, response, body);
    const [, deleted] = /^\/sandboxes\/([^/?]+)(?:\?|$)/.exec(method === "DELETE" ? url : "") ?? [];
    if (deleted !== undefined) {
      response.writeHead(sandboxes.delete(decodeURIComponent(deleted)) ? 204 : 404).end();
      return;
    }
    if (behaviourOf(request) === "503") return json(response, 503, noted);
    response.setHeader("connection", "x-of-this-hop, keep-alive");
    response.setHeader("x-of-this-hop", "1");
    response.setHeader("set-cookie", ["a=1", "b=2"]);
    json(response, 200, noted);
  } catch {
    response.destroy();
  }
});

const sockets = new WebSocketServer({ noServer: true });
server.on("upgrade", (request, socket, head) => {
  if (request.url?.includes("unauthorised")) {
    socket.end("HTTP/1.1 401 Unauthorized\r\nContent-Length: 5\r\nX-Why: no\r\n\r\nno no");
    return;
  }
  sockets.handleUpgrade(request, socket as Socket, head, (socketOf) => {
    socketOf.send(JSON.stringify({ node: nodeId, url: request.url, headers: request.headers }));
    socketOf.on("message", (data, isBinary) => socketOf.send(data, { binary: isBinary }));
  });
});
server.on("connection", (socket) => {
  if (closesConnections) socket.destroy();
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as { port: number }).port}\n`));
