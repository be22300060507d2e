/** Who calls the scheduler's APIs, and which calls are whose. */
import { type Refusal, refuse } from "./errors.ts";

export const TOKEN_KINDS = ["client", "node", "operator"] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

export interface Caller {
  /** `anybody`: no tokens are in force, and everybody is the same caller. */
  readonly kind: TokenKind | "anybody";
  /** The one node that a node's token is for; null: it names none. */
  readonly nodeId: string | null;
  /** The scope of its request ids: an opaque name, the same after a restart, and no secret. */
  readonly credential: string;
}

export const ANYBODY: Caller = { kind: "anybody", nodeId: null, credential: "anybody" };

/**
 * Whose a call is. `anyone` needs no token; operators may make every call. `own node` is for node tokens that name
 * their node, about that node only: what another node could do harm with.
 */
export type Callers = "anyone" | "client" | "node" | "own node" | "operator";

/** Why this caller may not make such a call; null when it may. */
export function refuseCaller({ kind, nodeId }: Caller, callers: Callers): Refusal | null {
  if (callers === "anyone" || kind === "anybody" || kind === "operator") return null;
  if (callers === kind) return null;
  if (callers === "own node" && kind === "node" && nodeId !== null) return null;
  return refuse("permission_denied", `this call is ${OWNERS[callers]}, and the token is a ${kind}'s`, {});
}

const OWNERS: Readonly<Record<Exclude<Callers, "anyone">, string>> = {
  client: "for clients and operators",
  node: "for nodes and operators",
  "own node": "for operators, and for nodes whose token names them",
  operator: "for operators",
};

/** Why this caller may not speak for the node; null when it may. */
export function refuseNode({ kind, nodeId: named }: Caller, nodeId: string): Refusal | null {
  if (kind !== "node" || named === null || named === nodeId) return null;
  return refuse("permission_denied", "the token is another node's", { field: "node_id" });
}

/** Whoever holds a reservation's token may use it; by its public id only operators act. */
export function refuseHandle({ kind }: Caller, handle: string): Refusal | null {
  if (kind === "anybody" || kind === "operator" || !handle.startsWith("rs_")) return null;
  return refuse("permission_denied", "only operators act by id; others present the reservation's token", {
    field: "token",
  });
}

/**
 * Whether the caller may say where creates for the node are sent: whoever can, can have the sandboxes of others. With
 * tokens in force that takes one that names the node.
 */
export function maySetEndpoint({ kind, nodeId: named }: Caller, nodeId: string): boolean {
  return kind === "anybody" || (kind === "node" && named === nodeId);
}
