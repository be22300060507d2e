import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { SecureContextOptions } from "node:tls";
import type { Clock } from "../../ports/clock.ts";
import type { Report, SendOutcome } from "./state.ts";

/**
 * A heartbeat is answered from memory, within milliseconds. One that takes longer than this is as good as lost, and the
 * next observation is worth more than its answer.
 */
const ANSWER_DEADLINE_MS = 5_000;
/** Answers are a number or an error of a few lines; what is longer is no scheduler's. */
const ANSWER_BYTES_MAX = 64 * 1024;

export interface SenderOptions {
  /** Base URL of the scheduler, without a slash at its end. */
  readonly schedulerUrl: string;
  readonly nodeId: string;
  /** The kernel's boot id; null where it could not be read. */
  readonly bootId: string | null;
  /** Whether no sandbox runtime reports for this node, so that the scheduler's own ledger counts what runs there. */
  readonly noRuntime: boolean;
  /** Where creates for the node are sent; null leaves what the scheduler knows. */
  readonly endpoint: string | null;
  /** The bearer token to send, asked for with every heartbeat; null for none. */
  readonly token: () => string | null;
  /** Whom to trust and what to show over TLS, in PEM; null: the authorities of Node. */
  readonly tls: Pick<SecureContextOptions, "ca" | "cert" | "key"> | null;
  /** Names this life of the reporter: its sequence numbers begin at 1. */
  readonly serviceInstanceId: string;
  readonly clock: Clock;
}

export interface HeartbeatSender {
  /** Posts one report; `ended` is called exactly once, unless the sender is closed first. */
  send(report: Report, ended: (outcome: SendOutcome) => void): void;
  /** Ends the request under way and the connection. */
  close(): void;
}

/** One connection to the scheduler, kept alive between heartbeats. */
export function openHeartbeatSender(options: SenderOptions): HeartbeatSender {
  const { schedulerUrl, nodeId, clock, token, tls } = options;
  const url = new URL(`${schedulerUrl}/v1/nodes/${encodeURIComponent(nodeId)}/heartbeat`);
  const secure = url.protocol === "https:";
  const agent = new (secure ? HttpsAgent : HttpAgent)({ ...tls, keepAlive: true, maxSockets: 1 });
  const request = secure ? requestHttps : requestHttp;
  let closed = false;

  function post(body: Buffer, ended: (outcome: SendOutcome) => void): void {
    let over = false;
    const end = (outcome: SendOutcome): void => {
      if (over || closed) return;
      over = true;
      deadline.cancel();
      ended(outcome);
    };
    const bearer = token();
    const headers = {
      "content-type": "application/json",
      "content-length": body.length,
      ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
    };
    const posting = request(url, { method: "POST", agent, headers }, (response) => readAnswer(response, end));
    const deadline = clock.after(ANSWER_DEADLINE_MS, () => {
      end({ kind: "away", why: `no answer within ${ANSWER_DEADLINE_MS / 1000} s` });
      posting.destroy();
    });
    posting.on("error", (error: NodeJS.ErrnoException) => {
      if (over || closed) return;
      // The scheduler may close an idle connection in the very moment that it is used again; that says nothing of it.
      if (posting.reusedSocket && error.code === "ECONNRESET") {
        over = true;
        deadline.cancel();
        post(body, ended);
      } else end({ kind: "away", why: describe(error) });
    });
    posting.end(body);
  }

  return {
    send: (report, ended) => post(serialise(report, options), ended),
    close() {
      closed = true;
      agent.destroy();
    },
  };
}

/**
 * The heartbeat's body. The resource part is copied as the bytes that the socket serves, since its integers may be
 * larger than a JavaScript number. `sequence` lets the scheduler see that a heartbeat was overtaken by a newer one.
 */
export function serialise(
  { sequence, resource }: Report,
  {
    serviceInstanceId,
    bootId,
    noRuntime,
    endpoint,
  }: Pick<SenderOptions, "serviceInstanceId" | "bootId" | "noRuntime" | "endpoint">,
): Buffer {
  const fields = {
    service_instance_id: serviceInstanceId,
    sequence,
    resource_sequence: sequence,
    ...(bootId === null ? {} : { boot_id: bootId }),
    ...(endpoint === null ? {} : { endpoint }),
    ...(noRuntime ? { inventory: "none" } : {}),
  };
  const head = JSON.stringify(fields).slice(0, -1);
  return Buffer.concat([Buffer.from(`${head},"resource":`), resource, Buffer.from("}")]);
}

function readAnswer(response: IncomingMessage, end: (outcome: SendOutcome) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) response.destroy(new Error("what answers there is not a scheduler"));
    else chunks.push(chunk);
  });
  response.on("error", (error) => end({ kind: "away", why: describe(error) }));
  response.on("end", () => end(outcomeOf(response.statusCode ?? 0, Buffer.concat(chunks).toString("utf8"))));
}

/** 408 and 429 say "not now", as 5xx does; every other 4xx says "not this". */
function outcomeOf(status: number, body: string): SendOutcome {
  if (status === 200) return { kind: "accepted" };
  const why = messageOf(body) ?? `HTTP status ${status}`;
  const refused = status >= 400 && status < 500 && status !== 408 && status !== 429;
  return { kind: refused ? "refused" : "away", why };
}

/** The message of an API error; null when the body is none. */
function messageOf(body: string): string | null {
  try {
    const message = (JSON.parse(body) as { error?: { message?: unknown } } | null)?.error?.message;
    return typeof message === "string" ? message : null;
  } catch {
    return null;
  }
}

/** Errors of several addresses at once (IPv6 and IPv4 of one name) have no message of their own. */
function describe(error: NodeJS.ErrnoException): string {
  return error.message || error.code || "the connection failed";
}
