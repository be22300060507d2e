/**
 * What is done on each message, by its type. A handler runs to its end before the next begins; what it does depends on
 * the state, the message, the time and chance, and on nothing else.
 */
import { type Refusal, refuse } from "../../messages/errors.ts";
import type {
  Confirm,
  Done,
  NodeAnswer,
  PlacementAnswers,
  PlacementMessage,
  Reply,
  ReservationAnswer,
} from "../../messages/placement.ts";
import type { Core } from "./core.ts";
import { type Closing, cancel, markUncertain, renew, sandboxDeleted, undelivered } from "./ledger/closing.ts";
import { confirm } from "./ledger/confirming.ts";
import { listReservations } from "./ledger/listing.ts";
import { isToken } from "./ledger/names.ts";
import type { Reservation } from "./ledger/reservation.ts";
import { viewOf } from "./ledger/view.ts";
import { nodeCountsOf } from "./nodes/counts.ts";
import type { Node } from "./nodes/node.ts";
import { isShown, nodeViewOf, nodeViewsOf } from "./nodes/view.ts";
import { clearCondition, cordon, recordAssignment, uncordon, unregister } from "./operating.ts";
import { takeHeartbeat } from "./reports.ts";
import { takeSandboxEvents } from "./sandbox-events.ts";
import { schedule } from "./scheduling.ts";
import { passTime } from "./timers.ts";
import type { Turn } from "./turn.ts";

type Handler<Type extends PlacementMessage["type"]> = (
  core: Core,
  turn: Turn,
  message: Extract<PlacementMessage, { readonly type: Type }>,
) => Reply<PlacementAnswers[Type]>;

const DONE: Reply<Done> = { ok: true, answer: {} };

export const HANDLERS: { readonly [Type in PlacementMessage["type"]]: Handler<Type> } = {
  schedule,
  confirm: onReservation<Confirm>(confirm),
  cancel: onReservation((core, turn, reservation, { reason }) => cancel(core, turn, reservation, reason)),
  renew: onReservation(renew),
  uncertain: onReservation(markUncertain),
  // A look changes nothing, as a repeat does.
  get_reservation: onReservation(() => ({ repeated: true })),
  list_reservations: (core, _turn, message) => listReservations(core.ledger, message),
  release_sandbox: (core, turn, { sandboxId }) => {
    sandboxDeleted(core, turn, { sandboxId, nodeId: null });
    return DONE;
  },
  heartbeat: takeHeartbeat,
  sandbox_events: takeSandboxEvents,
  record_assignment: recordAssignment,
  cordon: onNode((turn, node, { reason }) => cordon(turn, node, reason)),
  uncordon: onNode(uncordon),
  clear_condition: onNode((turn, node, { condition }) => clearCondition(turn, node, condition)),
  unregister,
  get_node: onNode(() => {}),
  list_nodes: (core, turn) => ({ ok: true, answer: { nodes: nodeViewsOf(core, turn.now) } }),
  count_nodes: (core, turn, { byNodeUpTo }) => ({ ok: true, answer: nodeCountsOf(core, turn.now, byNodeUpTo) }),
  delivery_failed: (core, turn, { reservationId }) => {
    const reservation = core.ledger.reservations.get(reservationId);
    if (reservation !== undefined) undelivered(core, turn, reservation);
    return DONE;
  },
  tick: (core, turn) => {
    passTime(core, turn);
    return DONE;
  },
};

/** A call about one reservation, which is answered with what it is afterwards. */
function onReservation<Message extends { readonly handle: string }>(
  close: (core: Core, turn: Turn, reservation: Reservation, message: Message) => Closing,
): (core: Core, turn: Turn, message: Message) => Reply<ReservationAnswer> {
  return (core, turn, message) => {
    const reservation = core.ledger.find(message.handle);
    if (reservation === undefined) return refused(refuse("not_found", "reservation not found"));
    const closed = close(core, turn, reservation, message);
    if ("refusal" in closed) return refused(closed.refusal);
    const view = viewOf(reservation, isToken(message.handle));
    return { ok: true, answer: { reservation: view, repeated: closed.repeated } };
  };
}

/** A call about one node, which is answered with what it is afterwards. */
function onNode<Message extends { readonly nodeId: string }>(
  operate: (turn: Turn, node: Node, message: Message) => void,
): (core: Core, turn: Turn, message: Message) => Reply<NodeAnswer> {
  return (core, turn, message) => {
    const node = core.fleet.nodes.get(message.nodeId);
    if (node === undefined || !isShown(node)) return refused(refuse("not_found", "node not found"));
    operate(turn, node, message);
    return { ok: true, answer: { node: nodeViewOf(core, node, turn.now) } };
  };
}

function refused(refusal: Refusal): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal };
}
