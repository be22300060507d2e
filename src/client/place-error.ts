import type { NodeAddress, Reservation } from "./calls.ts";
import { PlacementError, type PlacementErrorCode, type PlacementErrorInit } from "./errors.ts";

export interface Refusal {
  readonly node: NodeAddress;
  readonly error: unknown;
}

/**
 * - `refused`: every node that was tried refused; `refusals` says why.
 * - `failed`: `create` threw `CreateFailed`, the error's cause.
 * - `aborted`: the signal was aborted before `create` began; what had been reserved is cancelled.
 * - `uncertain`: nobody knows whether the sandbox exists; the reservation ends by itself if it does not.
 * - `expired`: the reservation ended before `create` could begin; or the confirm came late and no longer fitted, and the
 *   sandbox has been destroyed (else `sandboxId` is set).
 * - `unconfirmed`: the sandbox exists and the scheduler gave no answer to its confirm.
 * - any other: what the scheduler answered to the schedule or, where `sandboxId` is set, to the confirm.
 */
export type PlaceErrorCode = PlacementErrorCode | "refused" | "failed" | "uncertain" | "unconfirmed";

export interface PlaceErrorInit extends PlacementErrorInit<PlaceErrorCode> {
  readonly node?: NodeAddress;
  readonly reservation?: Reservation;
  readonly sandboxId?: string;
  readonly refusals: readonly Refusal[];
}

export class PlaceError extends PlacementError<PlaceErrorCode> {
  override readonly name = "PlaceError";
  /** The node of the last attempt; null when there was none. */
  readonly node: NodeAddress | null;
  /** Holds the token: not shown where the error is logged, since a log is no place for secrets. */
  readonly reservation: Reservation | null;
  /** Set exactly when a sandbox is known to exist: it is the caller's to keep or to destroy. */
  readonly sandboxId: string | null;
  readonly refusals: readonly Refusal[];

  constructor({ node, reservation, sandboxId, refusals, ...init }: PlaceErrorInit) {
    super(init);
    this.node = node ?? null;
    this.reservation = reservation ?? null;
    Object.defineProperty(this, "reservation", { enumerable: false });
    this.sandboxId = sandboxId ?? null;
    this.refusals = refusals;
  }
}
