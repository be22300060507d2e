/** `place`: one sandbox, from the request to a closed reservation, over as many nodes as refuse it. */
import type { Clock } from "../ports/clock.ts";
import { runCreate } from "./create.ts";
import { PlacementError, type PlacementErrorCode, type PlacementErrorInit } from "./errors.ts";
import { Lease } from "./lease.ts";
import type { NodeAddress, PlacementClient, Reservation, ScheduleRequest } from "./placement-client.ts";

/** What is to be created. Every attempt gets a `request_id` of its own. */
export type PlaceRequest = Omit<ScheduleRequest, "request_id" | "managed"> & Required<Pick<ScheduleRequest, "hint">>;

export interface CreateContext {
  /** Aborted when the caller's signal is, or when `createWithinMs` is over: end soon, and say what became of it. */
  readonly signal: AbortSignal;
  readonly reservation: Reservation;
}

/**
 * Creates the sandbox on the node and returns its id. Throw `CreateRefused` or `CreateFailed` only when it certainly does
 * not exist and will not: a connection that was refused, an answer that says no. Anything else that is thrown, such as a
 * timeout, leaves it open whether it exists.
 */
export type Create = (node: NodeAddress, context: CreateContext) => Promise<string>;

export interface PlaceOptions {
  /** Aborts: before `create` runs nothing is left behind; later it is up to `create`. A finished create is confirmed. */
  readonly signal?: AbortSignal;
  /** How long one `create` may take, in milliseconds. Default: as long as the lease can be renewed, 1 h. */
  readonly createWithinMs?: number;
  /** How many nodes are tried at most. Default 3. */
  readonly attemptsMax?: number;
  /** Removes a sandbox whose late confirm no longer fits. Without it, it is kept and charged past capacity. */
  readonly destroy?: (node: NodeAddress, sandboxId: string) => Promise<void>;
}

export interface Placed {
  readonly node: NodeAddress;
  readonly sandboxId: string;
  /** Confirmed, or settled already; `late` when it was confirmed after its lease. */
  readonly reservation: Reservation;
  /** The nodes that refused it before, in order. */
  readonly refusals: readonly Refusal[];
}

export interface Refusal {
  readonly node: NodeAddress;
  readonly error: unknown;
}

/**
 * - `refused`: every node that was tried refused; `refusals` says why.
 * - `failed`: `create` threw `CreateFailed`, the error's cause.
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
  readonly reservation: Reservation | null;
  /** Set exactly when a sandbox is known to exist: it is the caller's to keep or to destroy. */
  readonly sandboxId: string | null;
  readonly refusals: readonly Refusal[];

  constructor({ node, reservation, sandboxId, refusals, ...init }: PlaceErrorInit) {
    super(init);
    this.node = node ?? null;
    this.reservation = reservation ?? null;
    this.sandboxId = sandboxId ?? null;
    this.refusals = refusals;
  }
}

export interface PlaceInit {
  readonly client: PlacementClient;
  readonly clock: Clock;
  readonly request: PlaceRequest;
  readonly create: Create;
  readonly options: PlaceOptions;
}

const ATTEMPTS_MAX = 3;
/** Closing a reservation after a failure is a courtesy, since its lease ends anyway: the caller is not kept for long. */
const CLOSE_WITHIN_MS = 3_000;

interface Attempt {
  readonly node: NodeAddress;
  readonly reservation: Reservation;
  readonly token: string;
  readonly lease: Lease;
  readonly refusals: readonly Refusal[];
}

export async function place(init: PlaceInit): Promise<Placed> {
  const { client, clock, create, options } = init;
  const { signal, createWithinMs, attemptsMax = ATTEMPTS_MAX } = options;
  const refusals: Refusal[] = [];
  for (;;) {
    const attempt = await begin(init, refusals);
    const { node, reservation, token, lease } = attempt;
    const end = await runCreate(create, { node, reservation, signal, createWithinMs, clock });
    // A renewal that arrives after the mark would take it back.
    const released = lease.release();
    switch (end.kind) {
      case "created":
        return confirm(init, attempt, end.sandboxId);
      case "refused":
        await quietly(client.cancel(token, "refused", { withinMs: CLOSE_WITHIN_MS }));
        refusals.push({ node, error: end.error });
        if (refusals.length >= attemptsMax) throw allRefused(refusals, end.error);
        continue;
      case "failed":
        await quietly(client.cancel(token, "failed", { withinMs: CLOSE_WITHIN_MS }));
        throw failure(attempt, {
          code: "failed",
          message: `the create failed: ${describe(end.error)}`,
          cause: end.error,
        });
      case "uncertain": {
        await released;
        await quietly(client.uncertain(token, end.why, { withinMs: CLOSE_WITHIN_MS }));
        const message = `nobody knows whether the sandbox exists on node ${node.node_id}: ${describe(end.error)}`;
        throw failure(attempt, { code: "uncertain", message, cause: end.error });
      }
      default:
        return end satisfies never;
    }
  }
}

/** Schedules away from the nodes that refused, and starts to keep the lease. */
async function begin({ client, clock, request, options }: PlaceInit, refusals: readonly Refusal[]): Promise<Attempt> {
  const askedAtMs = clock.monotonicMs();
  const { signal } = options;
  const excluded = [...(request.exclude_node_ids ?? []), ...refusals.map(({ node }) => node.node_id)];
  const body = excluded.length === 0 ? request : { ...request, exclude_node_ids: excluded };
  const { node, reservation } = await client.schedule(body, { signal }).catch((thrown: unknown) => {
    if (!(thrown instanceof PlacementError)) throw thrown;
    if (thrown.code === "no_nodes" && refusals.length > 0) throw allRefused(refusals, thrown);
    const { code, message, details, status, cause } = thrown;
    throw new PlaceError({ code, message, details, status, cause, refusals });
  });
  const token = reservation?.token ?? null;
  if (reservation === null || token === null) {
    throw new PlaceError({ code: "unexpected_answer", message: "the scheduler made no reservation", node, refusals });
  }
  if (signal?.aborted) {
    await quietly(client.cancel(token, "client_gone", { withinMs: CLOSE_WITHIN_MS }));
    throw new PlaceError({
      code: "aborted",
      message: "aborted before anything was created",
      node,
      reservation,
      refusals,
    });
  }
  if (reservation.state !== "pending") {
    const message = "the reservation had ended before its answer arrived";
    throw new PlaceError({ code: "expired", message, node, reservation, refusals });
  }
  // An answer that got lost on its way left it marked; it has arrived now.
  if (reservation.uncertain) await quietly(client.renew(token, { withinMs: CLOSE_WITHIN_MS }));
  const lease = new Lease({ client, clock, token, reservation, askedAtMs });
  return { node, reservation, token, lease, refusals };
}

/** The sandbox exists: whatever happens now, it is charged, destroyed, or named in the error. */
async function confirm(init: PlaceInit, attempt: Attempt, sandboxId: string): Promise<Placed> {
  const { node, token, lease, refusals } = attempt;
  try {
    const reservation = await init.client.confirm(token, sandboxId, { withinMs: lease.leftMs });
    return { node, sandboxId, reservation, refusals };
  } catch (thrown) {
    if (!(thrown instanceof PlacementError)) throw thrown;
    if (thrown.code === "expired") return confirmLate(init, attempt, { sandboxId, expired: thrown });
    throw confirmFailure(attempt, sandboxId, thrown);
  }
}

interface Late {
  readonly sandboxId: string;
  readonly expired: PlacementError;
}

/** Destroys the sandbox that no longer fits, or keeps it and charges it past capacity where it cannot be destroyed. */
async function confirmLate(init: PlaceInit, attempt: Attempt, { sandboxId, expired }: Late): Promise<Placed> {
  const { client, options } = init;
  const { node, token, refusals } = attempt;
  const late = { code: "expired", details: expired.details, status: expired.status } as const;
  let undestroyed: unknown = null;
  if (options.destroy !== undefined) {
    try {
      await options.destroy(node, sandboxId);
    } catch (thrown) {
      undestroyed = thrown;
    }
    if (undestroyed === null) {
      const message = "the sandbox was confirmed after its lease, no longer fitted, and has been destroyed";
      throw failure(attempt, { ...late, message, cause: expired });
    }
  }
  const forced = client.confirm(token, sandboxId, { force: true });
  const reservation = await forced.catch((thrown: unknown) => {
    throw thrown instanceof PlacementError ? confirmFailure(attempt, sandboxId, thrown) : thrown;
  });
  if (undestroyed === null) return { node, sandboxId, reservation, refusals };
  const message = `the sandbox no longer fits and could not be destroyed, so it is charged: ${describe(undestroyed)}`;
  throw failure({ ...attempt, reservation }, { ...late, message, cause: undestroyed, sandboxId });
}

function confirmFailure(attempt: Attempt, sandboxId: string, cause: PlacementError): PlaceError {
  const { code, details, status } = cause;
  const message = `sandbox ${sandboxId} exists, but its confirm failed: ${cause.message}`;
  return failure(attempt, {
    code: cause.repeatable ? "unconfirmed" : code,
    message,
    details,
    status,
    cause,
    sandboxId,
  });
}

function failure({ node, reservation, refusals }: Attempt, init: Omit<PlaceErrorInit, "refusals">): PlaceError {
  return new PlaceError({ node, reservation, refusals, ...init });
}

function allRefused(refusals: readonly Refusal[], cause: unknown): PlaceError {
  const nodes = refusals.map(({ node, error }) => `${node.node_id}: ${describe(error)}`).join("; ");
  const node = refusals.at(-1)?.node;
  const message = `every node refused the create (${nodes})`;
  return new PlaceError({
    code: "refused",
    message,
    cause,
    refusals: [...refusals],
    ...(node === undefined ? {} : { node }),
  });
}

/** Of a call whose failure changes nothing that the caller can act on. */
async function quietly(call: Promise<unknown>): Promise<void> {
  await call.catch(() => undefined);
}

function describe(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
