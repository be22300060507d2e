import type { WireReservation } from "../messages/http/reservation.ts";
import { systemClock } from "../ports/clock.ts";
import { type ApiCommandOptions, type CallEndpoint, runApiCommand } from "./api-client.ts";
import { formatBytes, formatSpan } from "./figures.ts";
import { renderTable } from "./table.ts";

export interface ReservationsWish {
  readonly nodeId: string | null;
  /** Null: the live ones. */
  readonly state: WireReservation["state"] | null;
}

const HEADER = ["ID", "STATE", "NODE", "SANDBOX", "CPU", "MEMORY", "AGE", "LEASE", "NOTE"];

/** Prints a table of reservations. Returns the exit code. */
export function showReservations(options: ApiCommandOptions, wish: ReservationsWish): Promise<number> {
  return runApiCommand(options, async (call) => {
    const reservations = await fetchAll(call, wish);
    return { answer: { reservations }, page: renderReservations(reservations, wish, systemClock.wallMs()) };
  });
}

async function fetchAll(call: CallEndpoint, { nodeId, state }: ReservationsWish): Promise<WireReservation[]> {
  const all: WireReservation[] = [];
  let cursor: string | null = null;
  do {
    const page: { reservations: WireReservation[]; cursor: string | null } = await call("listReservations", {
      query: { node_id: nodeId, state, cursor },
    });
    all.push(...page.reservations);
    cursor = page.cursor;
  } while (cursor !== null);
  return all;
}

/** The page at a moment of the Unix clock, in milliseconds. */
export function renderReservations(
  reservations: readonly WireReservation[],
  { nodeId, state }: ReservationsWish,
  nowMs: number,
): string {
  if (reservations.length === 0) {
    return `No ${state ?? "live"} reservations${nodeId === null ? "" : ` on ${nodeId}`}.`;
  }
  return renderTable(
    HEADER,
    reservations.map((each) => [
      each.id,
      each.state,
      each.node_id,
      each.sandbox_id ?? "-",
      String(each.cpu),
      formatBytes(each.memory_bytes),
      formatSpan(nowMs - Date.parse(each.created_at)),
      each.expires_at === null ? "-" : leaseOf(each, nowMs),
      notesOf(each).join(", "),
    ]),
  );
}

/** What is left of the lease at a moment of the Unix clock. */
export function leaseOf({ expires_at }: Pick<WireReservation, "expires_at">, nowMs: number): string {
  if (expires_at === null) return "none";
  const leftMs = Date.parse(expires_at) - nowMs;
  return leftMs > 0 ? formatSpan(leftMs) : "over";
}

function notesOf({ managed, uncertain, late, reason }: WireReservation): string[] {
  return [
    ...(managed ? [] : ["unmanaged"]),
    ...(uncertain ? ["uncertain"] : []),
    ...(late ? ["late"] : []),
    ...(reason === null ? [] : [reason]),
  ];
}
