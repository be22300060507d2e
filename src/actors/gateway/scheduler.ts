/** The scheduler, as the gateway sees it. The program hands in one that speaks HTTP. */
import type { Hint } from "./hint.ts";

export interface NodeAddress {
  readonly nodeId: string;
  /** Null for a node that never gave one. */
  readonly endpoint: string | null;
}

/** A reservation that is to be closed. Its lease is renewed at half its time until `release`. */
export interface Hold {
  readonly node: NodeAddress;
  /** Secret; never logged. */
  readonly token: string;
  /** Public, `rs_…`. */
  readonly reservationId: string;
  /** What is left of the lease, in milliseconds. */
  readonly leftMs: number;
  /** Ends the renewals; resolves when none is under way that could overtake what is said next. */
  release(): Promise<void>;
}

/** Why a call failed: a code of the HTTP API, or of the way there (`unreachable`, `timeout`, `unexpected_answer`). */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** The HTTP status that the scheduler gave; null when it gave none. */
  readonly status: number | null;
  /** Whether the same call may be answered better later: no answer, 429 or 503. */
  readonly repeatable: boolean;
}

export type Answered<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure };

export interface Patience {
  /** 0: one try within 2 s. Else the call is repeated with back-off for so long. */
  readonly repeatForMs: number;
}

/** No call rejects; every call ends. */
export interface Scheduler {
  /** Reserves for a create. Repeated with back-off while the scheduler is away or starting. */
  reserve(request: { readonly hint: Hint; readonly excludeNodeIds: readonly string[] }): Promise<Answered<Hold>>;
  /** A node for a request that creates nothing; reserves nothing. */
  pick(): Promise<Answered<NodeAddress>>;
  /** Where a sandbox is; `not_found` when nobody knows. */
  lookup(sandboxId: string): Promise<Answered<NodeAddress>>;
  confirm(
    token: string,
    confirm: { readonly sandboxId: string; readonly force: boolean },
    patience: Patience,
  ): Promise<Answered<null>>;
  cancel(token: string, reason: string, patience: Patience): Promise<Answered<null>>;
  uncertain(token: string, reason: string, patience: Patience): Promise<Answered<null>>;
  /** Says where a sandbox is, for everyone's look-ups; binds and charges nothing. */
  recordAssignment(sandboxId: string, node: NodeAddress, patience: Patience): Promise<Answered<null>>;
  /** The sandbox is gone. */
  releaseSandbox(sandboxId: string, patience: Patience): Promise<Answered<null>>;
}
