/** What each call of evenkeel.v1.Reservations asks of the placement actor. */
import { refuseHandle } from "../../../messages/callers.ts";
import { USUAL_LIMIT } from "../../../messages/http/reservation.ts";
import type { Reply, ReservationAnswer, ReservationState, ReservationView } from "../../../messages/placement.ts";
import {
  type Reservation,
  type ReservationsService,
  ReservationState as WireState,
} from "../../../messages/proto/generated/evenkeel/v1/reservations.ts";
import type { PlacementClient } from "../../placement/client.ts";
import { mapReply } from "../handled.ts";
import { BorderRefusal, CallRefused, identifier, identifierOrNull, textUpTo } from "./border.ts";
import type { CallContext, HandlersOf } from "./unary.ts";

const REASON_LENGTH_MAX = 256;
const LIMIT_MAX = 10_000;

export function createReservationsHandlers(placement: PlacementClient): HandlersOf<ReservationsService> {
  const handleOf = ({ token }: { readonly token: string }, { caller }: CallContext): string => {
    const handle = identifier(token, "token");
    const refusal = refuseHandle(caller, handle);
    if (refusal !== null) throw new CallRefused(refusal);
    return handle;
  };
  return {
    async confirm(request, context) {
      const sandboxId = identifier(request.sandboxId, "sandbox_id");
      const { force } = request;
      return moved(await placement.ask({ type: "confirm", handle: handleOf(request, context), sandboxId, force }));
    },
    async cancel(request, context) {
      const reason = textUpTo(request.reason, "reason", REASON_LENGTH_MAX) || null;
      return moved(await placement.ask({ type: "cancel", handle: handleOf(request, context), reason }));
    },
    async renew(request, context) {
      return moved(await placement.ask({ type: "renew", handle: handleOf(request, context) }));
    },
    async markUncertain(request, context) {
      return moved(await placement.ask({ type: "uncertain", handle: handleOf(request, context) }));
    },
    async get(request, context) {
      return moved(await placement.ask({ type: "get_reservation", handle: handleOf(request, context) }));
    },
    async list(request) {
      const { limit } = request;
      if (limit > LIMIT_MAX) throw new BorderRefusal("limit", `must be at most ${LIMIT_MAX}`);
      const reply = await placement.ask({
        type: "list_reservations",
        nodeId: identifierOrNull(request.nodeId, "node_id"),
        state: stateAsked(request.state),
        limit: limit === 0 ? USUAL_LIMIT : limit,
        cursor: identifierOrNull(request.cursor, "cursor"),
      });
      return mapReply(reply, ({ reservations, cursor }) => ({
        reservations: reservations.map(wireReservation),
        cursor: cursor ?? "",
      }));
    },
  };
}

function moved(reply: Reply<ReservationAnswer>): Reply<{ reservation: Reservation }> {
  return mapReply(reply, ({ reservation }) => ({ reservation: wireReservation(reservation) }));
}

const WIRE_STATES = {
  pending: WireState.RESERVATION_STATE_PENDING,
  confirmed: WireState.RESERVATION_STATE_CONFIRMED,
  settled: WireState.RESERVATION_STATE_SETTLED,
  cancelled: WireState.RESERVATION_STATE_CANCELLED,
  expired: WireState.RESERVATION_STATE_EXPIRED,
  released: WireState.RESERVATION_STATE_RELEASED,
} as const satisfies Readonly<Record<ReservationState, WireState>>;

const STATES: ReadonlyMap<number, ReservationState> = new Map(
  (Object.keys(WIRE_STATES) as ReservationState[]).map((state) => [WIRE_STATES[state], state]),
);

/** Null: the live ones. */
function stateAsked(asked: WireState): ReservationState | null {
  if (asked === WireState.RESERVATION_STATE_UNSPECIFIED) return null;
  const state = STATES.get(asked);
  if (state === undefined) throw new BorderRefusal("state", "is none of ReservationState");
  return state;
}

function wireReservation(view: ReservationView): Reservation {
  return {
    id: view.id,
    token: view.token ?? undefined,
    state: WIRE_STATES[view.state],
    managed: view.managed,
    uncertain: view.uncertain,
    late: view.late,
    nodeId: view.nodeId,
    sandboxId: view.sandboxId ?? undefined,
    cpuMillicores: BigInt(view.cpuMillicores),
    memoryBytes: BigInt(view.memoryBytes),
    createdAtUnixMs: BigInt(view.createdAtUnixMs),
    expiresAtUnixMs: view.expiresAtUnixMs === null ? undefined : BigInt(view.expiresAtUnixMs),
    reason: view.reason ?? undefined,
  };
}
