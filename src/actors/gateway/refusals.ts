/** What the gateway itself answers: the error shape of the HTTP API, with codes of its own where a node is at fault. */
import type { FastifyReply } from "fastify";
import type { Failure } from "./scheduler.ts";

/**
 * - `bad_gateway`, `gateway_timeout`: the node's answer was lost; with `details.outcome` `unknown` the sandbox may exist.
 * - `unavailable`: nothing was created, another try may do better.
 * - the others are the scheduler's.
 */
export interface GatewayRefusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** A full scheduler works off its mailbox within a second. */
const RETRY_AFTER_S = 1;

export function bodyOf({ code, message, details = {} }: GatewayRefusal): string {
  return JSON.stringify({ error: { code, message, details } });
}

export function sendRefusal(reply: FastifyReply, refusal: GatewayRefusal): FastifyReply {
  if (refusal.status === 429) reply.header("retry-after", String(RETRY_AFTER_S));
  // A body that nobody reads to its end would be taken for the next request.
  if (!reply.request.raw.complete) reply.header("connection", "close");
  return reply.code(refusal.status).type("application/json; charset=utf-8").send(bodyOf(refusal));
}

/** What the scheduler says of the client's request; the rest is between it and the gateway. */
const FOR_THE_CLIENT: ReadonlySet<string> = new Set(["no_nodes", "overloaded", "unavailable", "not_found"]);
/** It did not answer, or not as a scheduler. */
const AWAY: ReadonlySet<string> = new Set(["unreachable", "timeout", "unexpected_answer"]);

/** A call to the scheduler that failed, as the client is told. */
export function refusalOfFailure({ code, message, details, status }: Failure): GatewayRefusal {
  if (FOR_THE_CLIENT.has(code)) return { status: status ?? 503, code, message, details };
  const retry = { retry: "unchanged" };
  if (AWAY.has(code))
    return { status: 503, code: "unavailable", message: "the scheduler does not answer", details: retry };
  // Such as a gateway without a valid token: a 401 would send the client to look for its own.
  const refused = { ...retry, scheduler_code: code };
  return { status: 503, code: "unavailable", message: "the scheduler refuses the gateway's calls", details: refused };
}

export const STOPPING: GatewayRefusal = {
  status: 503,
  code: "unavailable",
  message: "the gateway is stopping",
  details: { retry: "unchanged" },
};

export function malformedRequest(message: string): GatewayRefusal {
  return { status: 400, code: "invalid_argument", message };
}

/** The node's answer to something other than a create was lost, or the node could not be reached. */
export function lostAnswer(status: 502 | 504, nodeId: string): GatewayRefusal {
  return status === 504
    ? { status, code: "gateway_timeout", message: "the node did not answer in time", details: { node_id: nodeId } }
    : { status, code: "bad_gateway", message: "the node's answer was lost", details: { node_id: nodeId } };
}

const UNKNOWN_CODES = { 502: "bad_gateway", 503: "unavailable", 504: "gateway_timeout" } as const;

/** Nobody knows whether the sandbox exists. */
export function unknownOutcome(status: 502 | 503 | 504, nodeId: string, reason: string): GatewayRefusal {
  return {
    status,
    code: UNKNOWN_CODES[status],
    message: "the node was asked to create the sandbox and nobody knows whether it did",
    details: { outcome: "unknown", node_id: nodeId, reason, ...(status === 503 ? { retry: "unknown" } : {}) },
  };
}
