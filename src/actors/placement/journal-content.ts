import { RESERVATION_STATES, type ReservationState } from "../../messages/placement.ts";
import type { LogEntry } from "./event-log.ts";
import { foldLog } from "./journal-snapshot.ts";

/** What lives in a log, in numbers. */
export interface JournalContent {
  readonly reservations: Readonly<Record<ReservationState, number>>;
  /** All that are known; the next three are among them. */
  readonly nodes: number;
  readonly unregistered: number;
  readonly cordoned: number;
  readonly underPressure: number;
  readonly assignments: number;
  /** Sandbox ids that a DELETE or a FORK named. */
  readonly namedSandboxes: number;
  /** Unix milliseconds of the newest event; null when there is none. */
  readonly newestWallMs: number | null;
}

/** Throws when the entries make no sense together. */
export function contentOf(entries: Iterable<LogEntry>): JournalContent {
  const { placement, assignments, newest } = foldLog(entries);
  const { ledger, fleet } = placement.core;
  const reservations = Object.fromEntries(RESERVATION_STATES.map((state) => [state, 0])) as Record<
    ReservationState,
    number
  >;
  for (const { status } of ledger.reservations.values()) reservations[status] += 1;
  const nodes = [...fleet.nodes.values()];
  return {
    reservations,
    nodes: nodes.length,
    unregistered: nodes.filter(({ unregistered }) => unregistered !== null).length,
    cordoned: nodes.filter(({ cordon }) => cordon !== null).length,
    underPressure: nodes.filter(({ conditions }) => conditions.size > 0).length,
    assignments: assignments.length,
    namedSandboxes: ledger.named.size,
    newestWallMs: newest.wallMs === 0 ? null : newest.wallMs,
  };
}
