import type { WireReservation } from "../messages/http/reservation.ts";
import { systemClock } from "../ports/clock.ts";
import { type ApiCommandOptions, runApiCommand } from "./api-client.ts";
import { leaseOf } from "./reservations.ts";

export interface MoveWish {
  readonly move: "confirm" | "cancel" | "renew";
  readonly token: string;
  readonly body: object;
}

/** Moves a reservation and prints where it is now. Returns the exit code. */
export function showMove(options: ApiCommandOptions, { move, token, body }: MoveWish): Promise<number> {
  return runApiCommand(options, async (call) => {
    const answer = await call(move, { params: { token }, body });
    return { answer, page: describe(answer.reservation) };
  });
}

function describe(reservation: WireReservation): string {
  const { id, state, node_id, sandbox_id, late, reason } = reservation;
  const sandbox = sandbox_id === null ? "" : ` for sandbox ${sandbox_id}`;
  const lease =
    reservation.expires_at === null ? "" : `; its lease ends in ${leaseOf(reservation, systemClock.wallMs())}`;
  const why = reason === null ? "" : ` (${reason})`;
  return `${id} on ${node_id} is ${state}${late ? ", late," : ""}${sandbox}${why}${lease}`;
}
