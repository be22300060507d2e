import type { ErrorCode } from "../messages/errors.ts";

/**
 * Why a call failed: a code of the HTTP API, or one of the client's own.
 *
 * - `unreachable`: no connection, or it broke before an answer came.
 * - `timeout`: no answer in time.
 * - `aborted`: the caller's signal was aborted, and nothing has been created.
 * - `unexpected_answer`: what answered is not a scheduler.
 */
export type PlacementErrorCode = ErrorCode | "unreachable" | "timeout" | "aborted" | "unexpected_answer";

export interface PlacementErrorInit<Code extends string> {
  readonly code: Code;
  readonly message: string;
  /** As the API gave them; empty for the client's own codes. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** HTTP status; null when there was no answer. */
  readonly status?: number | null;
  /** How long the scheduler asks to wait before the call is repeated; null when it does not. */
  readonly retryAfterMs?: number | null;
  readonly cause?: unknown;
}

/** A call that failed. `message` is a sentence for a person and never holds a token. */
export class PlacementError<Code extends string = PlacementErrorCode> extends Error {
  override readonly name: string = "PlacementError";
  readonly code: Code;
  readonly details: Readonly<Record<string, unknown>>;
  readonly status: number | null;
  readonly retryAfterMs: number | null;

  constructor({ code, message, details = {}, status = null, retryAfterMs = null, cause }: PlacementErrorInit<Code>) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the very same call may be answered better later. All calls of the client may be repeated safely. */
  get repeatable(): boolean {
    switch (this.code) {
      case "unreachable":
      case "timeout":
      case "overloaded":
      case "unavailable":
        return true;
      case "unexpected_answer":
        return this.status !== null && this.status >= 502; // a proxy in front of a scheduler that is away
      default:
        return false;
    }
  }
}

/** `reason` is what the caller's signal was aborted with. */
export function abortedBy(reason: unknown): PlacementError {
  return new PlacementError({ code: "aborted", message: "the call was aborted by its caller", cause: reason });
}

/**
 * Thrown by a `create` callback: this node has not created the sandbox and will not, another one may. Its reservation is
 * cancelled and the next node is tried.
 */
export class CreateRefused extends Error {
  override readonly name = "CreateRefused";
}

/**
 * Thrown by a `create` callback: the sandbox has not been created, and no other node would do better (a bad image name,
 * for instance). The reservation is cancelled and `place` fails.
 */
export class CreateFailed extends Error {
  override readonly name = "CreateFailed";
}
