/** The life of one request, from its schedule to the call that closes its reservation. */
import type { WireReservation } from "../../messages/http/reservation.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Promised, SandboxCreated, SandboxEnded } from "./messages.ts";
import type { Intention, LoadPlan } from "./plan.ts";
import type { ClientRecord, Grant, GrantEnd, TimedCall } from "./records.ts";
import { apiErrorIn, type CallEnd, problemIn, type SchedulerCalls } from "./scheduler-calls.ts";

/** Together about half a minute: longer than a scheduler takes to start anew. */
const TRIES_MAX = 10;
const PAUSE_MS = { first: 50, most: 5_000 };

export interface ClientPorts {
  readonly calls: SchedulerCalls;
  readonly clock: Clock;
  /** Whether a node is one of the run's. */
  readonly isOwn: (nodeId: string) => boolean;
  /** Nodes that are not, as far as the run knew when it began. */
  readonly excludeNodeIds: readonly string[];
  readonly timed: (call: TimedCall, durationMs: number) => void;
  /** What happens on the nodes. */
  readonly tellNodes: (happened: SandboxCreated | SandboxEnded) => void;
  /** A clear answer has come, which has to hold from now on. */
  readonly heard: (promised: Promised) => void;
}

type Scheduled =
  | { readonly outcome: "granted"; readonly grant: Grant }
  | { readonly outcome: "refused"; readonly code: string }
  | { readonly outcome: "unclear"; readonly why: string };

export class Client {
  readonly #plan: LoadPlan;
  readonly #ports: ClientPorts;

  constructor(plan: LoadPlan, ports: ClientPorts) {
    this.#plan = plan;
    this.#ports = ports;
  }

  async live(intention: Intention): Promise<ClientRecord> {
    const { number } = intention;
    const answers = await Promise.all(
      Array.from({ length: intention.repeats ? 2 : 1 }, () => this.#schedule(intention)),
    );
    // A refusal leaves no trace: where the first is refused the repeat is a new attempt, and may be granted.
    const [granted, repeated] = answers.filter((answer) => answer.outcome === "granted");
    const unclear = answers.find((answer) => answer.outcome === "unclear");
    if (granted === undefined) {
      const [first] = answers;
      if (unclear !== undefined) return { number, ...unclear };
      return { number, outcome: "refused", code: first?.outcome === "refused" ? first.code : "none" };
    }
    const { grant } = granted;
    this.#ports.heard({ type: "promised", grant, end: "granted" });
    const { end, why } = await this.#close(intention, grant);
    this.#ports.heard({ type: "promised", grant, end });
    const closed = { number, outcome: "granted", grant, repeat: repeated?.grant ?? null, end } as const;
    return { ...closed, why: why ?? unclear?.why ?? null };
  }

  async #schedule({ requestId }: Intention): Promise<Scheduled> {
    const { cpuCount, memoryMib } = this.#plan;
    const { excludeNodeIds, clock } = this.#ports;
    const sentAtWallMs = clock.wallMs();
    const end = await this.#callUntilClear("schedule", "/v1/schedule", {
      hint: { new_cold_sandbox: { cpu_count: cpuCount, memory_mb: memoryMib } },
      request_id: requestId,
      ...(excludeNodeIds.length === 0 ? {} : { exclude_node_ids: excludeNodeIds }),
    });
    if (end.answered && end.status === 200) {
      return { outcome: "granted", grant: grantIn(end.body, { sentAtWallMs, answeredAtWallMs: clock.wallMs() }) };
    }
    const error = apiErrorIn(end);
    if (error === null || isWorthRepeating(end)) return { outcome: "unclear", why: problemIn(end) };
    return { outcome: "refused", code: error.code };
  }

  async #close(intention: Intention, grant: Grant): Promise<{ readonly end: GrantEnd; readonly why: string | null }> {
    const path = `/v1/reservations/${grant.token}`;
    // A node that joined meanwhile and is not this run's own: nothing of ours may stay there.
    const fate = this.#ports.isOwn(grant.nodeId) ? intention.fate : "cancel";
    switch (fate) {
      case "abandon":
        return { end: "abandoned", why: null };
      case "cancel": {
        const end = await this.#callUntilClear("cancel", `${path}/cancel`, { reason: "caller_gone" });
        const state = stateIn(end);
        if (state === "cancelled" || state === "expired") return { end: state, why: null };
        return { end: "unclear", why: `cancel: ${state ?? problemIn(end)}` };
      }
      case "confirm":
        return this.#confirm(intention, grant);
      default:
        return fate satisfies never;
    }
  }

  /** The sandbox is created before it is confirmed; the node may show it before, or only after. */
  async #confirm({ sandboxId, shownFirst }: Intention, grant: Grant): Promise<{ end: GrantEnd; why: string | null }> {
    const { nodeId, cpuMillicores, memoryBytes } = grant;
    const amounts = { cpuMillicores, memoryBytes };
    const created: SandboxCreated = { type: "sandbox_created", nodeId, sandboxId, amounts };
    if (shownFirst) this.#ports.tellNodes(created);
    const body = { sandbox_id: sandboxId };
    const end = await this.#callUntilClear("confirm", `/v1/reservations/${grant.token}/confirm`, body);
    const state = stateIn(end);
    if (state === "confirmed" || state === "settled") {
      if (!shownFirst) this.#ports.tellNodes(created);
      return { end: "confirmed", why: null };
    }
    if (apiErrorIn(end)?.code === "expired") {
      // The promise is gone: the caller takes the sandbox down again.
      this.#ports.tellNodes({ type: "sandbox_ended", nodeId, sandboxId });
      return { end: "expired", why: null };
    }
    return { end: "unclear", why: `confirm: ${state ?? problemIn(end)}` };
  }

  /**
   * Repeats a call, which all here are safe to repeat, until its answer says whether it was done. Only the first try is
   * timed: what follows measures the pauses.
   */
  async #callUntilClear(call: TimedCall, path: string, body: object): Promise<CallEnd> {
    const { calls, clock, timed } = this.#ports;
    const { triesMax, longestPauseMs } = this.#plan.patience ?? { triesMax: TRIES_MAX, longestPauseMs: PAUSE_MS.most };
    const startMs = clock.monotonicMs();
    let end = await calls.call({ method: "POST", path, body });
    if (end.answered) timed(call, clock.monotonicMs() - startMs);
    for (let tries = 1; tries < triesMax && isWorthRepeating(end); tries++) {
      const pauseMs = Math.min(PAUSE_MS.first * 2 ** tries, longestPauseMs);
      await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
      end = await calls.call({ method: "POST", path, body });
    }
    return end;
  }
}

/** No answer, a full mailbox, or a scheduler that starts, stops or could not write it down. */
function isWorthRepeating(end: CallEnd): boolean {
  if (!end.answered) return true;
  return ["overloaded", "unavailable", "internal"].includes(apiErrorIn(end)?.code ?? "");
}

function stateIn(end: CallEnd): string | null {
  if (!end.answered || end.status !== 200) return null;
  return (end.body as { readonly reservation: WireReservation }).reservation.state;
}

function grantIn(body: unknown, { sentAtWallMs, answeredAtWallMs }: Sending): Grant {
  const { reservation } = body as { readonly reservation: WireReservation };
  // Both times are the scheduler's; only their difference is used, so that its clock need not agree with ours.
  const leaseMs = Date.parse(reservation.expires_at ?? reservation.created_at) - Date.parse(reservation.created_at);
  return {
    token: reservation.token ?? "",
    id: reservation.id,
    nodeId: reservation.node_id,
    cpuMillicores: Math.round(reservation.cpu * 1000),
    memoryBytes: reservation.memory_bytes,
    leaseEndsAtWallMsLeast: sentAtWallMs + leaseMs,
    leaseEndsAtWallMsMost: answeredAtWallMs + leaseMs,
  };
}

interface Sending {
  readonly sentAtWallMs: number;
  readonly answeredAtWallMs: number;
}
