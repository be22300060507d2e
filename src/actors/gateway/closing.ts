/**
 * Closes reservations. The client waits for the first try only; what the scheduler does not answer then is repeated in
 * the background until the lease is over, when the scheduler ends the reservation by itself.
 *
 * ```
 * confirm ─┬─ ok ───────────────▶ confirmed
 *          ├─ no answer, 429, 503 ▶ postponed ──▶ as below, without a client
 *          ├─ 404 ──────────────▶ unknown    the scheduler is told where it is, and it is remembered here
 *          ├─ 409 ──────────────▶ conflict   counted and logged: two tellings of one sandbox
 *          └─ 410 ──────────────▶ expired    late, and no room left: the caller keeps or destroys it
 * ```
 */
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../kernel/actor.ts";
import type { FreshRoutes } from "./fresh-routes.ts";
import type { ClosingCall, GatewayMetrics } from "./metrics.ts";
import type { Answered, Failure, Hold, Patience, Scheduler } from "./scheduler.ts";

export type ConfirmEnd = "confirmed" | "postponed" | "unknown" | "conflict" | "expired" | "failed";

export interface CloserOptions {
  readonly scheduler: Scheduler;
  readonly freshRoutes: FreshRoutes;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: GatewayMetrics;
}

const ONE_TRY: Patience = { repeatForMs: 0 };
/** A release has no lease to end it: the next roster tells the scheduler too. */
const RELEASE_REPEAT_FOR_MS = 60_000;
/** Postponed calls at a time. Each is a few hundred bytes and a timer; beyond it the leases have to end by themselves. */
const POSTPONED_MAX = 10_000;

export class Closer {
  readonly #options: CloserOptions;
  readonly #postponed = new Set<Promise<void>>();

  constructor(options: CloserOptions) {
    this.#options = options;
  }

  /** Calls that are repeated in the background. */
  get postponed(): number {
    return this.#postponed.size;
  }

  /** The sandbox exists. Late and without room it is charged all the same with `force`. */
  async confirm(hold: Hold, sandboxId: string, { force }: { readonly force: boolean }): Promise<ConfirmEnd> {
    const { scheduler } = this.#options;
    void hold.release();
    const first = await scheduler.confirm(hold.token, { sandboxId, force }, ONE_TRY);
    const end = confirmEndOf(first);
    this.#note(hold, { sandboxId, end, failure: first.ok ? null : first.failure });
    if (end === "postponed") this.#postpone("confirm", () => this.#confirmLater(hold, sandboxId));
    return end;
  }

  /** It certainly does not exist. */
  async cancel(hold: Hold, reason: string): Promise<void> {
    const { scheduler } = this.#options;
    void hold.release();
    await this.#close("cancel", hold, (patience) => scheduler.cancel(hold.token, reason, patience));
  }

  /** Nobody knows whether it exists. */
  async uncertain(hold: Hold, reason: string): Promise<void> {
    const { scheduler } = this.#options;
    // A renewal that arrives after the mark would take it back.
    await hold.release();
    await this.#close("uncertain", hold, (patience) => scheduler.uncertain(hold.token, reason, patience));
  }

  /** A sandbox is gone. */
  async releaseSandbox(sandboxId: string): Promise<void> {
    const { scheduler, freshRoutes, metrics, log } = this.#options;
    freshRoutes.forget(sandboxId);
    const first = await scheduler.releaseSandbox(sandboxId, ONE_TRY);
    metrics.closed("release", first.ok ? "ok" : first.failure.code);
    if (first.ok) return;
    if (!first.failure.repeatable) {
      log.error({ sandboxId, code: first.failure.code }, "a deleted sandbox could not be released");
      return;
    }
    this.#postpone("release", async () => {
      const later = await scheduler.releaseSandbox(sandboxId, { repeatForMs: RELEASE_REPEAT_FOR_MS });
      metrics.closed("release", later.ok ? "ok" : later.failure.code);
    });
  }

  /** Resolves when nothing is repeated any more, or after `withinMs`; with the number of calls that are left. */
  async idle(withinMs: number): Promise<number> {
    const { clock } = this.#options;
    await new Promise<void>((resolve) => {
      const timer = clock.after(withinMs, resolve);
      void Promise.all(this.#postponed).then(() => {
        timer.cancel();
        resolve();
      });
    });
    return this.#postponed.size;
  }

  async #close(call: ClosingCall, hold: Hold, close: (patience: Patience) => Promise<Answered<null>>): Promise<void> {
    const { metrics, log } = this.#options;
    const settle = (answered: Answered<null>): boolean => {
      metrics.closed(call, answered.ok ? "ok" : answered.failure.code);
      if (answered.ok) return true;
      const { code, message, repeatable } = answered.failure;
      log.warn({ reservationId: hold.reservationId, call, code }, `a reservation could not be closed: ${message}`);
      return !repeatable;
    };
    if (settle(await close(ONE_TRY))) return;
    this.#postpone(call, async () => void settle(await close({ repeatForMs: hold.leftMs })));
  }

  async #confirmLater(hold: Hold, sandboxId: string): Promise<void> {
    const { scheduler } = this.#options;
    const later = await scheduler.confirm(hold.token, { sandboxId, force: false }, { repeatForMs: hold.leftMs });
    const end = confirmEndOf(later);
    this.#note(hold, {
      sandboxId,
      end: end === "postponed" ? "failed" : end,
      failure: later.ok ? null : later.failure,
    });
    // Its client has been told that it exists: it cannot be destroyed any more.
    if (end === "expired") await this.#forceLater(hold, sandboxId);
  }

  async #forceLater(hold: Hold, sandboxId: string): Promise<void> {
    const { scheduler } = this.#options;
    const forced = await scheduler.confirm(
      hold.token,
      { sandboxId, force: true },
      { repeatForMs: RELEASE_REPEAT_FOR_MS },
    );
    const end = confirmEndOf(forced);
    this.#note(hold, {
      sandboxId,
      end: end === "postponed" ? "failed" : end,
      failure: forced.ok ? null : forced.failure,
    });
  }

  #note(hold: Hold, noted: { sandboxId: string; end: ConfirmEnd; failure: Failure | null }): void {
    const { metrics, log, freshRoutes, clock } = this.#options;
    const { sandboxId, end, failure } = noted;
    const { reservationId, node } = hold;
    metrics.closed("confirm", end);
    if (end === "confirmed") return freshRoutes.forget(sandboxId);
    if (end !== "conflict" && end !== "expired") freshRoutes.remember(sandboxId, node, clock.monotonicMs());
    const fields = { reservationId, sandboxId, nodeId: node.nodeId, code: failure?.code };
    const message = `the confirm of a sandbox that exists ended as ${end}: ${failure?.message ?? ""}`;
    if (end === "conflict" || end === "failed") log.error(fields, message);
    else log.warn(fields, message);
    if (end === "unknown") this.#postpone("record", () => this.#record(hold, sandboxId));
  }

  /** A reservation that nobody knows any more: look-ups shall find its sandbox before its node's next roster. */
  async #record({ node }: Hold, sandboxId: string): Promise<void> {
    const { scheduler, metrics, log } = this.#options;
    const recorded = await scheduler.recordAssignment(sandboxId, node, { repeatForMs: RELEASE_REPEAT_FOR_MS });
    metrics.closed("record", recorded.ok ? "ok" : recorded.failure.code);
    if (recorded.ok) return;
    log.warn({ sandboxId, nodeId: node.nodeId }, `a sandbox could not be recorded: ${recorded.failure.message}`);
  }

  #postpone(call: ClosingCall, run: () => Promise<void>): void {
    const { metrics } = this.#options;
    if (this.#postponed.size >= POSTPONED_MAX) {
      metrics.closed(call, "dropped");
      return;
    }
    const running = run().finally(() => this.#postponed.delete(running));
    this.#postponed.add(running);
  }
}

function confirmEndOf(answered: Answered<null>): ConfirmEnd {
  if (answered.ok) return "confirmed";
  const { code, repeatable } = answered.failure;
  if (repeatable) return "postponed";
  switch (code) {
    case "not_found":
      return "unknown";
    case "conflict":
      return "conflict";
    case "expired":
      return "expired";
    default:
      return "failed";
  }
}
