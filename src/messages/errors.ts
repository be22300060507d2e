/**
 * The one table of refusals: what code the HTTP and gRPC servers answer with, explicit on both sides. A refusal is plain
 * data, so that it travels across threads without losing its code.
 */

interface ErrorRow {
  readonly httpStatus: number;
  /** Numeric status of gRPC (grpc/grpc, doc/statuscodes.md). */
  readonly grpcStatus: number;
}

const GRPC = {
  invalidArgument: 3,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export const ERRORS = {
  invalid_argument: { httpStatus: 400, grpcStatus: GRPC.invalidArgument },
  unauthenticated: { httpStatus: 401, grpcStatus: GRPC.unauthenticated },
  permission_denied: { httpStatus: 403, grpcStatus: GRPC.permissionDenied },
  not_found: { httpStatus: 404, grpcStatus: GRPC.notFound },
  /** A lifecycle conflict; `details.state` is the state it is in. */
  conflict: { httpStatus: 409, grpcStatus: GRPC.failedPrecondition },
  /** A late confirm that no longer fits. */
  expired: { httpStatus: 410, grpcStatus: GRPC.failedPrecondition },
  payload_too_large: { httpStatus: 413, grpcStatus: GRPC.resourceExhausted },
  /** A mailbox is full; nothing was changed. */
  overloaded: { httpStatus: 429, grpcStatus: GRPC.resourceExhausted },
  /** The handling of this one message threw; it is not tried again. */
  internal: { httpStatus: 500, grpcStatus: GRPC.internal },
  /** No candidate; `details.reasons` counts the nodes by reason, `details.nodes` is the number considered. */
  no_nodes: { httpStatus: 503, grpcStatus: GRPC.unavailable },
  /** `details.retry` says whether anything can have changed: `unchanged` or `unknown`. */
  unavailable: { httpStatus: 503, grpcStatus: GRPC.unavailable },
} as const satisfies Readonly<Record<string, ErrorRow>>;

export type ErrorCode = keyof typeof ERRORS;

/** A refusal as a value: what the caller can act on. `details` holds only plain JSON data, keys in snake_case. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Builds a refusal. `message` is a sentence for a person and never holds a token. */
export function refuse(code: ErrorCode, message: string, details: Readonly<Record<string, unknown>> = {}): Refusal {
  return { code, message, details };
}

export function httpStatusOf(refusal: Refusal): number {
  return ERRORS[refusal.code].httpStatus;
}

/**
 * ALREADY_EXISTS for a sandbox id that belongs to another reservation (`details.bound_to` is set), else the status of
 * the code.
 */
export function grpcStatusOf(refusal: Refusal): number {
  if (refusal.code === "conflict" && "bound_to" in refusal.details) return GRPC.alreadyExists;
  return ERRORS[refusal.code].grpcStatus;
}

/** The exact message that nodes match on to back off. */
export const NODE_NOT_LISTED = "node is not in scheduler node list";
/** The exact message of an unregister that names another instance. */
export const INSTANCE_MISMATCH = "service instance mismatch";
