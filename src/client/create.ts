import type { Clock } from "../ports/clock.ts";
import { pause } from "../ports/pause.ts";
import { CreateFailed, CreateRefused } from "./errors.ts";
import type { Create } from "./place.ts";
import type { NodeAddress, Reservation } from "./placement-client.ts";

/** What is known after a `create`. */
export type CreateEnd =
  | { readonly kind: "created"; readonly sandboxId: string }
  | { readonly kind: "refused" | "failed"; readonly error: unknown }
  | { readonly kind: "uncertain"; readonly error: unknown; readonly why: "failed" | "timeout" | "client_gone" };

/** How long a create that was told to end may take to say what became of it; later it is not listened to any more. */
const SETTLE_WITHIN_MS = 1_000;

export interface CreateRun {
  readonly node: NodeAddress;
  readonly reservation: Reservation;
  readonly signal: AbortSignal | undefined;
  readonly createWithinMs: number | undefined;
  readonly clock: Clock;
}

type Why = Extract<CreateEnd, { kind: "uncertain" }>["why"];

/** Runs `create` under its deadline and the caller's signal. Always ends, also where `create` does not. */
export async function runCreate(create: Create, run: CreateRun): Promise<CreateEnd> {
  const { node, reservation, signal, createWithinMs, clock } = run;
  const stop = new AbortController();
  const ended = new AbortController();
  const stopBy = (cause: Why, reason: unknown): void => {
    why = cause;
    stop.abort(reason);
  };
  let why: Why = "failed";
  const onAbort = (): void => stopBy("client_gone", signal?.reason);
  signal?.addEventListener("abort", onAbort);
  const overdue = new Error(`the create took longer than ${createWithinMs} ms`);
  const timer = createWithinMs === undefined ? null : clock.after(createWithinMs, () => stopBy("timeout", overdue));
  const grace = new Promise<CreateEnd>((resolve) => {
    stop.signal.addEventListener("abort", async () => {
      await pause(clock, SETTLE_WITHIN_MS, ended.signal);
      resolve({ kind: "uncertain", error: stop.signal.reason, why });
    });
  });
  try {
    const settled = settle(() => create(node, { signal: stop.signal, reservation }));
    const end = await Promise.race([settled, grace]);
    return end.kind === "uncertain" ? { ...end, why } : end;
  } finally {
    ended.abort();
    timer?.cancel();
    signal?.removeEventListener("abort", onAbort);
  }
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
