/** The one table of the HTTP API: validation, routes, and the OpenAPI document are made of it. */
import { z } from "zod";
import type { Callers } from "../callers.ts";
import type { ErrorCode } from "../errors.ts";
import { eventsBody, heartbeatAnswerSchema, heartbeatBody, nodeParams } from "./heartbeat.ts";
import { conditionParams, cordonBody, instanceQuery, nodeAnswerSchema, nodesAnswerSchema } from "./node.ts";
import { healthAnswerSchema, readyAnswerSchema } from "./process.ts";
import {
  confirmBody,
  handleParams,
  reasonBody,
  reservationAnswerSchema,
  reservationsAnswerSchema,
  reservationsQuery,
} from "./reservation.ts";
import { identifier } from "./scalars.ts";
import { assignmentBody, nodeAddressSchema, scheduleAnswerSchema, scheduleBody } from "./schedule.ts";

export const HTTP_METHODS = ["get", "post", "delete"] as const;

export interface Endpoint<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Answer extends z.ZodType | null = z.ZodType | null,
> {
  readonly method: (typeof HTTP_METHODS)[number];
  /** With `{name}` for each parameter. */
  readonly path: string;
  readonly tag: "placement" | "sandboxes" | "nodes" | "process";
  readonly summary: string;
  /** Whose tokens it takes, where tokens are in force. */
  readonly callers: Callers;
  readonly params: Params;
  readonly query: Query;
  /** `nothing` where none is read. An absent body is an empty one. */
  readonly body: Body;
  /** Null: 204, without content. */
  readonly answer: Answer;
  /** Without those of a missing or wrong token, which `callers` tells. */
  readonly errors: readonly ErrorCode[];
  /** Longest body in bytes. */
  readonly bodyBytesMax: number;
  /** Called all the time: path and body are checked by compiled code first. Their JSON Schemas must say all that they ask. */
  readonly hot?: boolean;
}

export const BODY_BYTES_MAX = 64 * 2 ** 10;
/** Room for a roster of 100 000 short ids. */
export const HEARTBEAT_BYTES_MAX = 8 * 2 ** 20;

/** Where a call reads nothing. */
export const nothing = z.object({});

/** What any call that reaches the placement actor may be answered. */
const ANY = ["invalid_argument", "overloaded", "internal", "unavailable"] as const satisfies ErrorCode[];
const READ = { params: nothing, query: nothing, body: nothing, bodyBytesMax: BODY_BYTES_MAX } as const;
const MOVE = {
  method: "post",
  tag: "placement",
  callers: "client",
  params: handleParams,
  query: nothing,
  answer: reservationAnswerSchema,
  errors: [...ANY, "not_found", "conflict", "payload_too_large"],
  bodyBytesMax: BODY_BYTES_MAX,
} as const;
const OPERATE = {
  method: "post",
  tag: "nodes",
  callers: "operator",
  params: nodeParams,
  query: nothing,
  body: nothing,
  answer: nodeAnswerSchema,
  errors: [...ANY, "not_found", "payload_too_large"],
  bodyBytesMax: BODY_BYTES_MAX,
} as const;

/** Checks an entry without widening it. */
function endpoint<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType | null>(
  entry: Endpoint<P, Q, B, A>,
): Endpoint<P, Q, B, A> {
  return entry;
}

export const ENDPOINTS = {
  schedule: endpoint({
    ...READ,
    method: "post",
    path: "/v1/schedule",
    tag: "placement",
    summary: "Pick a node and, for a creation, reserve on it in the same step.",
    callers: "client",
    body: scheduleBody,
    hot: true,
    answer: scheduleAnswerSchema,
    errors: [...ANY, "conflict", "payload_too_large", "no_nodes"],
  }),
  confirm: endpoint({
    ...MOVE,
    path: "/v1/reservations/{token}/confirm",
    summary: "The sandbox exists: bind it to its reservation.",
    body: confirmBody,
    hot: true,
    errors: [...MOVE.errors, "expired"],
  }),
  cancel: endpoint({
    ...MOVE,
    path: "/v1/reservations/{token}/cancel",
    summary: "The sandbox was not created: give its capacity back.",
    body: reasonBody,
  }),
  renew: endpoint({
    ...MOVE,
    path: "/v1/reservations/{token}/renew",
    summary: "The create still runs: the lease starts anew.",
    body: reasonBody,
  }),
  uncertain: endpoint({
    ...MOVE,
    path: "/v1/reservations/{token}/uncertain",
    summary: "The caller cannot know whether the create happened.",
    body: reasonBody,
  }),
  getReservation: endpoint({
    ...READ,
    method: "get",
    path: "/v1/reservations/{token}",
    tag: "placement",
    summary: "Show a reservation, live or remembered.",
    callers: "client",
    params: handleParams,
    answer: reservationAnswerSchema,
    errors: [...ANY, "not_found"],
  }),
  listReservations: endpoint({
    ...READ,
    method: "get",
    path: "/v1/reservations",
    tag: "placement",
    summary: "List reservations, the oldest first; without a state the live ones.",
    callers: "client",
    query: reservationsQuery,
    answer: reservationsAnswerSchema,
    errors: ANY,
  }),
  lookupSandbox: endpoint({
    ...READ,
    method: "get",
    path: "/v1/sandboxes/{sandbox_id}",
    tag: "sandboxes",
    summary: "Where a sandbox is.",
    callers: "client",
    params: z.object({ sandbox_id: identifier }),
    answer: z.object({ node: nodeAddressSchema }),
    errors: [...ANY, "not_found"],
  }),
  recordAssignment: endpoint({
    ...READ,
    method: "post",
    path: "/v1/sandboxes/{sandbox_id}/assignment",
    tag: "sandboxes",
    summary: "Say where a sandbox is, for look-ups; binds and charges nothing.",
    callers: "client",
    params: z.object({ sandbox_id: identifier }),
    body: assignmentBody,
    answer: nothing,
    errors: ANY,
  }),
  deleteSandbox: endpoint({
    ...READ,
    method: "delete",
    path: "/v1/sandboxes/{sandbox_id}",
    tag: "sandboxes",
    summary: "The sandbox is gone; also for an unknown or already deleted one.",
    callers: "client",
    params: z.object({ sandbox_id: identifier }),
    answer: null,
    errors: ANY,
  }),
  heartbeat: endpoint({
    ...OPERATE,
    path: "/v1/nodes/{node_id}/heartbeat",
    summary: "A node reports: its runtime part, its daemon part, or both.",
    callers: "node",
    body: heartbeatBody,
    hot: true,
    answer: heartbeatAnswerSchema,
    errors: [...ANY, "payload_too_large"],
    bodyBytesMax: HEARTBEAT_BYTES_MAX,
  }),
  events: endpoint({
    ...OPERATE,
    path: "/v1/nodes/{node_id}/events",
    summary: "A runtime tells what happened to its sandboxes; lossy, nothing depends on it.",
    callers: "node",
    body: eventsBody,
    answer: nothing,
    errors: [...OPERATE.errors, "not_found"],
  }),
  cordon: endpoint({
    ...OPERATE,
    path: "/v1/nodes/{node_id}/cordon",
    summary: "Take a node out by hand; what runs there stays.",
    body: cordonBody,
  }),
  uncordon: endpoint({
    ...OPERATE,
    path: "/v1/nodes/{node_id}/uncordon",
    summary: "Undo a cordon.",
    body: cordonBody,
  }),
  clearCondition: endpoint({
    ...OPERATE,
    path: "/v1/nodes/{node_id}/conditions/{type}/clear",
    summary: "End a pressure condition; it comes back after as many samples as the first time.",
    params: conditionParams,
  }),
  unregister: endpoint({
    ...OPERATE,
    method: "delete",
    path: "/v1/nodes/{node_id}",
    summary: "The runtime says goodbye; it must name its instance.",
    query: instanceQuery,
    answer: null,
    errors: [...ANY, "conflict"],
  }),
  listNodes: endpoint({
    ...READ,
    method: "get",
    path: "/v1/nodes",
    tag: "nodes",
    summary: "Every known node, by id.",
    callers: "operator",
    answer: nodesAnswerSchema,
    errors: ANY,
  }),
  getNode: endpoint({
    ...READ,
    method: "get",
    path: "/v1/nodes/{node_id}",
    tag: "nodes",
    summary: "One node.",
    callers: "operator",
    params: nodeParams,
    answer: nodeAnswerSchema,
    errors: [...ANY, "not_found"],
  }),
  healthz: endpoint({
    ...READ,
    method: "get",
    path: "/healthz",
    tag: "process",
    summary: "The process is alive.",
    callers: "anyone",
    answer: healthAnswerSchema,
    errors: ["internal"],
  }),
  readyz: endpoint({
    ...READ,
    method: "get",
    path: "/readyz",
    tag: "process",
    summary: "Replay and the start guard are over; it says nothing about nodes.",
    callers: "anyone",
    answer: readyAnswerSchema,
    errors: ["internal", "unavailable"],
  }),
};

export type Endpoints = typeof ENDPOINTS;
export type EndpointName = keyof Endpoints;

/** What a handler is given, validated. */
export interface InputOf<Name extends EndpointName> {
  readonly params: z.output<Endpoints[Name]["params"]>;
  readonly query: z.output<Endpoints[Name]["query"]>;
  readonly body: z.output<Endpoints[Name]["body"]>;
}

/** What a handler answers with; null: no content. */
export type AnswerOf<Name extends EndpointName> = Endpoints[Name]["answer"] extends z.ZodType
  ? z.output<Endpoints[Name]["answer"]>
  : null;
