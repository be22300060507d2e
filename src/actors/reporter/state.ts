/**
 * What the reporter decides: when to send, what to send, and which change is worth a log line.
 *
 * ```
 * idle ──refresh──▶ sending ──accepted, nothing newer──▶ idle
 *                    ▲   └──refused or away──▶ waiting ──back-off over──▶ sending
 *                    └──accepted, newer refresh there
 * ```
 * One report is kept, the newest; a refresh that comes while another is under way replaces what waits.
 */
import type { Published } from "../../messages/resource.ts";

/** One finished refresh, numbered for the scheduler. */
export interface Report {
  /** From 1 in this process, one more with each refresh; the same report sent again keeps its number. */
  readonly sequence: number;
  /** The bytes of the answer to `GET /resource`. */
  readonly resource: Uint8Array;
}

/**
 * How a heartbeat ended. `refused`: the scheduler understood it and will not have it (a status of 4xx). `away`: no
 * answer, or one that says "not now". `why` is one line.
 */
export type SendOutcome =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "away"; readonly why: string };

export interface ReporterState {
  readonly phase: "idle" | "sending" | "waiting";
  /** `Published.refreshes` of the newest report: tells a finished refresh from a state in between. */
  readonly refreshes: number;
  /** Null before the first refresh. */
  readonly newest: Report | null;
  /** The newest report that the scheduler has taken; 0 for none. */
  readonly acceptedSequence: number;
  /** The report that is under way; 0 for none. */
  readonly sendingSequence: number;
  readonly failuresInRow: number;
  /** How things stand with the scheduler, as last logged; null before the first answer. */
  readonly standing: SendOutcome | null;
}

export interface Step {
  readonly state: ReporterState;
  /** To be sent now. */
  readonly send?: Report;
  /** To be called `onRetry` after a back-off for this many failures in a row. */
  readonly retryAfterFailures?: number;
  /** A change of standing, to be logged. */
  readonly changed?: SendOutcome;
}

export function initialState(): ReporterState {
  return {
    phase: "idle",
    refreshes: 0,
    newest: null,
    acceptedSequence: 0,
    sendingSequence: 0,
    failuresInRow: 0,
    standing: null,
  };
}

export function onPublished(state: ReporterState, { refreshes, body }: Pick<Published, "refreshes" | "body">): Step {
  if (refreshes === 0 || refreshes === state.refreshes) return { state };
  const newest: Report = { sequence: (state.newest?.sequence ?? 0) + 1, resource: body };
  const next = { ...state, refreshes, newest };
  return state.phase === "idle" ? send(next) : { state: next };
}

export function onSent(state: ReporterState, outcome: SendOutcome): Step {
  const changed = isChange(state.standing, outcome) ? { changed: outcome } : {};
  if (outcome.kind === "accepted") {
    const next: ReporterState = {
      ...state,
      phase: "idle",
      acceptedSequence: state.sendingSequence,
      failuresInRow: 0,
      standing: outcome,
    };
    return { ...send(next), ...changed };
  }
  const failuresInRow = state.failuresInRow + 1;
  const next: ReporterState = { ...state, phase: "waiting", failuresInRow, standing: outcome };
  return { state: next, retryAfterFailures: failuresInRow, ...changed };
}

export function onRetry(state: ReporterState): Step {
  return state.phase === "waiting" ? send(state) : { state };
}

/** Sends the newest report unless the scheduler has it. */
function send(state: ReporterState): Step {
  const { newest } = state;
  if (newest === null || newest.sequence === state.acceptedSequence) return { state: { ...state, phase: "idle" } };
  return { state: { ...state, phase: "sending", sendingSequence: newest.sequence }, send: newest };
}

/** Another reason to be away is no change, another refusal is: it tells the operator something else to mend. */
function isChange(before: SendOutcome | null, now: SendOutcome): boolean {
  if (before === null || before.kind !== now.kind) return true;
  return now.kind === "refused" && before.kind === "refused" && before.why !== now.why;
}

/** However long the scheduler is away, the node is back within about a minute of it. */
const LONGEST_WAIT_MS = 60_000;

export interface RetryOptions {
  readonly failuresInRow: number;
  readonly intervalMs: number;
  /** Within [0, 1): spreads a fleet that lost its scheduler at the same moment. */
  readonly fraction: number;
}

/**
 * The wait before the next try: at least one interval, at most 60 s (or one interval where that is longer), and in
 * between anywhere below a bound that doubles with each failure in a row.
 */
export function retryWaitMs({ failuresInRow, intervalMs, fraction }: RetryOptions): number {
  const boundMs = Math.min(LONGEST_WAIT_MS, intervalMs * 2 ** Math.min(failuresInRow, 30));
  return intervalMs + fraction * Math.max(0, boundMs - intervalMs);
}
