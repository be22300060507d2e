/** Lists of reservations for operators, in the order in which they were made, page by page. */
import { refuse } from "../../../messages/errors.ts";
import type { ListReservations, Reply, ReservationsAnswer } from "../../../messages/placement.ts";
import type { Ledger } from "./ledger.ts";
import { isLive, type Reservation } from "./reservation.ts";
import { viewOf } from "./view.ts";

/** The cursor is the position of the last one shown; it holds whatever is made or forgotten in between. */
export function listReservations(ledger: Ledger, message: ListReservations): Reply<ReservationsAnswer> {
  const after = message.cursor === null ? -1 : Number(message.cursor);
  if (message.cursor !== null && !isPosition(after, message.cursor)) {
    const words = "cursor must be one that a list came with";
    return { ok: false, refusal: refuse("invalid_argument", words, { field: "cursor" }) };
  }
  const page: Reservation[] = [];
  let more = false;
  for (const reservation of ledger.reservations.values()) {
    if (reservation.position <= after || !isAskedFor(reservation, message)) continue;
    more = page.length >= message.limit;
    if (more) break;
    page.push(reservation);
  }
  const reservations = page.map((reservation) => viewOf(reservation, false));
  const last = page.at(-1);
  return { ok: true, answer: { reservations, cursor: more && last !== undefined ? String(last.position) : null } };
}

/** As this list writes it, and no other way to write the number. */
function isPosition(number: number, text: string): boolean {
  return Number.isSafeInteger(number) && number >= 0 && String(number) === text;
}

function isAskedFor(reservation: Reservation, { nodeId, state }: ListReservations): boolean {
  if (nodeId !== null && reservation.terms.nodeId !== nodeId) return false;
  return state === null ? isLive(reservation) : reservation.status === state;
}
