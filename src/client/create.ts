import type { Clock } from "../ports/clock.ts";
import { pause } from "../ports/pause.ts";
import type { NodeAddress, Reservation } from "./calls.ts";
import { CreateFailed, CreateRefused } from "./errors.ts";

export interface CreateContext {
  /** Aborted when the caller's signal is, or when the create's time is over: end soon, and say what became of it. */
  readonly signal: AbortSignal;
  readonly reservation: Reservation;
}

/**
 * Creates the sandbox on the node and returns its id. Throw `CreateRefused` or `CreateFailed` only when it certainly does
 * not exist and will not: a connection that was refused, an answer that says no. Anything else that is thrown, such as a
 * timeout, leaves it open whether it exists.
 */
export type Create = (node: NodeAddress, context: CreateContext) => Promise<string>;

/** What is known after a `create`; `aborted` is one that did not begin, since its caller had gone. */
export type CreateEnd =
  | { readonly kind: "created"; readonly sandboxId: string }
  | { readonly kind: "aborted" | "refused" | "failed"; readonly error: unknown }
  | { readonly kind: "uncertain"; readonly error: unknown; readonly why: "failed" | "timeout" | "client_gone" };

/** How long a create that was told to end may take to say what became of it; later it is not listened to any more. */
const SETTLE_WITHIN_MS = 1_000;

export interface CreateRun {
  readonly node: NodeAddress;
  readonly reservation: Reservation;
  readonly signal: AbortSignal | undefined;
  /** Undefined: until the lease is over. */
  readonly createWithinMs: number | undefined;
  readonly leaseOver: AbortSignal;
  readonly clock: Clock;
}

type Why = Extract<CreateEnd, { kind: "uncertain" }>["why"];

/** Runs `create` under its deadline and the caller's signal. Always ends, also where `create` does not. */
export async function runCreate(create: Create, run: CreateRun): Promise<CreateEnd> {
  const { node, reservation, signal, clock } = run;
  if (signal?.aborted) return { kind: "aborted", error: signal.reason };
  const stop = new AbortController();
  const ended = new AbortController();
  let why: Why = "failed";
  const stopBy = (cause: Why, reason: unknown): void => {
    // The first reason stands.
    if (stop.signal.aborted) return;
    why = cause;
    stop.abort(reason);
  };
  const grace = new Promise<CreateEnd>((resolve) => {
    stop.signal.addEventListener("abort", async () => {
      await pause(clock, SETTLE_WITHIN_MS, ended.signal);
      resolve({ kind: "uncertain", error: stop.signal.reason, why });
    });
  });
  onAbort(signal, ended.signal, (reason) => stopBy("client_gone", reason));
  onTimeOver(run, ended.signal, (reason) => stopBy("timeout", reason));
  try {
    const settled = settle(() => create(node, { signal: stop.signal, reservation }));
    const end = await Promise.race([settled, grace]);
    return end.kind === "uncertain" ? { ...end, why } : end;
  } finally {
    ended.abort();
  }
}

function onTimeOver(
  { createWithinMs, leaseOver, clock }: CreateRun,
  ended: AbortSignal,
  act: (reason: unknown) => void,
): void {
  if (createWithinMs === undefined) return onAbort(leaseOver, ended, act);
  const overdue = new Error(`the create took longer than ${createWithinMs} ms`);
  const timer = clock.after(createWithinMs, () => act(overdue));
  ended.addEventListener("abort", () => timer.cancel());
}

/** Listens to `signal`, which may be aborted already, until `ended` is. */
function onAbort(signal: AbortSignal | undefined, ended: AbortSignal, act: (reason: unknown) => void): void {
  if (signal?.aborted) return act(signal.reason);
  signal?.addEventListener("abort", () => act(signal.reason), { once: true, signal: ended });
}

async function settle(create: () => Promise<string>): Promise<CreateEnd> {
  try {
    return { kind: "created", sandboxId: await create() };
  } catch (error) {
    if (error instanceof CreateRefused) return { kind: "refused", error };
    if (error instanceof CreateFailed) return { kind: "failed", error };
    return { kind: "uncertain", error, why: "failed" };
  }
}
