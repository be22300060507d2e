/** What a load run is told, and what it tells at its end. */
import type { ActorSystem } from "../actors/kernel/system.ts";
import type { Finding } from "../actors/load/audit.ts";
import type { Chaos } from "../actors/load/chaos.ts";
import type { NodeRole } from "../actors/load/messages.ts";
import type { ClientRecord, Durations } from "../actors/load/records.ts";
import type { Problem, SchedulerAccess } from "../actors/load/scheduler-calls.ts";
import type { Clock } from "../ports/clock.ts";
import type { LoadSettings } from "./load-settings.ts";

/** The run cannot go on: one line that says why. */
export class LoadError extends Error implements Problem {
  /** The scheduler's API's, where it is what the scheduler said; else null. */
  readonly code: string | null;

  constructor(message: string, code: string | null = null) {
    super(message);
    this.code = code;
  }
}

export interface LoadTerms extends Omit<LoadSettings, "nodes" | "nodeTokens"> {
  readonly scheduler: SchedulerAccess;
  readonly nodes: readonly NodeRole[];
  readonly seed: number;
  /** Begins the name of all that the run makes. */
  readonly prefix: string;
}

export interface LoadPorts {
  readonly system: ActorSystem;
  readonly clock: Clock;
  /** A line for a person who waits. */
  readonly say: (line: string) => void;
  /** Kills and restarts the scheduler while requests are fired; null leaves it alone. */
  readonly chaos: Chaos | null;
}

/** When the ledger is audited: with abandoned reservations still pending, and when nothing is any more. */
export const AUDIT_TIMES = ["under load", "at the end"] as const;
export type AuditTime = (typeof AUDIT_TIMES)[number];

export interface LoadResult {
  readonly terms: LoadTerms;
  readonly records: readonly ClientRecord[];
  readonly durationsMs: Durations;
  readonly calls: number;
  /** From the first request to the last answer. */
  readonly firedMs: number;
  readonly findings: readonly (Finding & { readonly when: AuditTime })[];
  /** Abandoned reservations that were not waited for. */
  readonly cancelledById: number;
  /** Why not all requests were sent; null when they were. */
  readonly cutShort: string | null;
}
