/** `place`: one sandbox, from the request to a closed reservation, over as many nodes as refuse it. */
import { describeThrown } from "../messages/thrown.ts";
import type { Clock } from "../ports/clock.ts";
import { pause } from "../ports/pause.ts";
import type { NodeAddress, PlacementCalls, Reservation, ScheduleAnswer, ScheduleRequest } from "./calls.ts";
import { type Create, runCreate } from "./create.ts";
import { abortedBy, PlacementError } from "./errors.ts";
import { Lease } from "./lease.ts";
import { PlaceError, type PlaceErrorInit, type Refusal } from "./place-error.ts";

/** What is to be created. Every attempt gets a `request_id` of its own. */
export type PlaceRequest = Omit<ScheduleRequest, "request_id" | "managed"> & Required<Pick<ScheduleRequest, "hint">>;

export interface PlaceOptions {
  /**
   * Aborts. Before `create` runs nothing is left behind: an answer that is under way is waited for, at most 3 s, and what
   * it reserved is cancelled. Later it is up to `create`. A finished create is confirmed.
   */
  readonly signal?: AbortSignal;
  /**
   * How long one `create` may take, in milliseconds. Default: until its lease is over, which renewals put off to the
   * scheduler's `max_reservation_age` (1 h). What takes longer than that is confirmed late, if it still fits.
   */
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

export interface PlaceInit {
  readonly client: PlacementCalls;
  readonly clock: Clock;
  readonly request: PlaceRequest;
  readonly create: Create;
  readonly options: PlaceOptions;
}

const ATTEMPTS_MAX = 3;
/** Closing a reservation after a failure is a courtesy, since its lease ends anyway: the caller is not kept for long. */
const CLOSE_WITHIN_MS = 3_000;

const ABORTED = "aborted before anything was created";

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
    const run = { node, reservation, signal, createWithinMs, leaseOver: lease.over, clock };
    const end = await runCreate(create, run);
    // A renewal that arrives after the mark would take it back.
    const released = lease.release();
    switch (end.kind) {
      case "created":
        return confirm(init, attempt, end.sandboxId);
      case "aborted":
        await quietly(client.cancel(token, "client_gone", { withinMs: CLOSE_WITHIN_MS }));
        throw failure(attempt, { code: "aborted", message: ABORTED, cause: end.error });
      case "refused":
        await quietly(client.cancel(token, "refused", { withinMs: CLOSE_WITHIN_MS }));
        refusals.push({ node, error: end.error });
        if (refusals.length >= attemptsMax) throw allRefused(refusals, end.error);
        continue;
      case "failed":
        await quietly(client.cancel(token, "failed", { withinMs: CLOSE_WITHIN_MS }));
        throw failure(attempt, {
          code: "failed",
          message: `the create failed: ${describeThrown(end.error)}`,
          cause: end.error,
        });
      case "uncertain": {
        await released;
        await quietly(client.uncertain(token, end.why, { withinMs: CLOSE_WITHIN_MS }));
        const message = `nobody knows whether the sandbox exists on node ${node.node_id}: ${describeThrown(end.error)}`;
        throw failure(attempt, { code: "uncertain", message, cause: end.error });
      }
      default:
        return end satisfies never;
    }
  }
}

/** Schedules away from the nodes that refused, and starts to keep the lease. */
async function begin(init: PlaceInit, refusals: readonly Refusal[]): Promise<Attempt> {
  const { client, clock, request, options } = init;
  const { signal } = options;
  const askedAtMs = clock.monotonicMs();
  const excluded = [...(request.exclude_node_ids ?? []), ...refusals.map(({ node }) => node.node_id)];
  const body = excluded.length === 0 ? request : { ...request, exclude_node_ids: excluded };
  const { node, reservation } = await schedule(init, body).catch((thrown: unknown) => {
    if (!(thrown instanceof PlacementError)) throw thrown;
    if (signal?.aborted) throw new PlaceError({ code: "aborted", message: ABORTED, cause: signal.reason, refusals });
    if (thrown.code === "no_nodes" && refusals.length > 0) throw allRefused(refusals, thrown);
    const { code, message, details, status, cause } = thrown;
    throw new PlaceError({ code, message, details, status, cause, refusals });
  });
  const token = reservation?.token ?? null;
  if (reservation === null || token === null) {
    throw new PlaceError({ code: "unexpected_answer", message: "the scheduler made no reservation", node, refusals });
  }
  if (reservation.state !== "pending") {
    const message = "the reservation had ended before its answer arrived";
    throw new PlaceError({ code: "expired", message, node, reservation, refusals });
  }
  const lease = new Lease({ client, clock, token, reservation, askedAtMs });
  // An answer that got lost on its way left it marked; it has arrived now.
  if (reservation.uncertain) await quietly(client.renew(token, { withinMs: CLOSE_WITHIN_MS, signal }));
  return { node, reservation, token, lease, refusals };
}

/**
 * An abort does not cut the call at once: what it reserves can only be cancelled by who hears the answer. Without one in
 * time, the scheduler sees the connection break and marks what it reserved as uncertain.
 */
async function schedule({ client, clock, options }: PlaceInit, body: ScheduleRequest): Promise<ScheduleAnswer> {
  const { signal } = options;
  if (signal?.aborted) throw abortedBy(signal.reason);
  const answered = new AbortController();
  const cut = new AbortController();
  const cutSoon = async (): Promise<void> => {
    await pause(clock, CLOSE_WITHIN_MS, answered.signal);
    if (!answered.signal.aborted) cut.abort();
  };
  signal?.addEventListener("abort", cutSoon, { once: true, signal: answered.signal });
  try {
    return await client.schedule(body, { signal: cut.signal });
  } finally {
    answered.abort();
  }
}

/** The sandbox exists: whatever happens now, it is charged, destroyed, or named in the error. */
async function confirm(init: PlaceInit, attempt: Attempt, sandboxId: string): Promise<Placed> {
  const { node, token, lease, refusals } = attempt;
  try {
    const reservation = await init.client.confirm(token, sandboxId, {
      withinMs: Math.max(lease.leftMs, CLOSE_WITHIN_MS),
    });
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
  const message = `the sandbox no longer fits and could not be destroyed, so it is charged: ${describeThrown(undestroyed)}`;
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
  const nodes = refusals.map(({ node, error }) => `${node.node_id}: ${describeThrown(error)}`).join("; ");
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
