/** What each call of the HTTP API asks of which actor. */
import { type Caller, maySetEndpoint, refuseHandle } from "../../messages/callers.ts";
import { refuse } from "../../messages/errors.ts";
import type { AnswerOf } from "../../messages/http/endpoints.ts";
import { eventsMessage, heartbeatMessage } from "../../messages/http/heartbeat.ts";
import { nodeOf, type WireNode } from "../../messages/http/node.ts";
import { reservationOf, USUAL_LIMIT, type WireReservation } from "../../messages/http/reservation.ts";
import { scheduleAnswerOf, scheduleMessage } from "../../messages/http/schedule.ts";
import type {
  Cancel,
  Confirm,
  GetReservation,
  MarkUncertain,
  NodeAnswer,
  PlacementAnswers,
  PlacementMessage,
  Renew,
  Reply,
  ReservationAnswer,
  ScheduleAnswer,
} from "../../messages/placement.ts";
import type { PlacementClient, ReadinessAnswer } from "../placement/client.ts";
import { type Conclusion, conclude, type Handled, type Handlers, mapReply } from "./handled.ts";
import { type ApiActors, lookUpSandbox } from "./sandbox-look-up.ts";

type Move = Confirm | Cancel | Renew | MarkUncertain | GetReservation;

type AnswerTo<M extends PlacementMessage> = PlacementAnswers[M["type"]];

export function createHandlers({ placement, directory }: ApiActors): Handlers {
  /** Asks placement, and concludes with what `handledOf` makes of its reply. */
  const askFor = <M extends PlacementMessage, Answer>(
    message: M,
    conclusion: Conclusion<Answer>,
    handledOf: (reply: Reply<AnswerTo<M>>) => Handled<Answer>,
  ): void => {
    placement.askThen(message, (reply) => {
      try {
        conclusion.finish(handledOf(reply as Reply<AnswerTo<M>>));
      } catch (thrown) {
        conclusion.fail(thrown);
      }
    });
  };
  /** The same, where only the answer is shown in another way. */
  const ask = <M extends PlacementMessage, Answer>(
    message: M,
    conclusion: Conclusion<Answer>,
    show: (answer: AnswerTo<M>) => Answer,
  ): void => askFor(message, conclusion, (reply) => mapReply(reply, show));
  const move = (caller: Caller, message: Move, conclusion: Conclusion<{ reservation: WireReservation }>): void => {
    const refusal = refuseHandle(caller, message.handle);
    if (refusal === null) ask<Move, { reservation: WireReservation }>(message, conclusion, shownReservation);
    else conclusion.finish({ ok: false, refusal });
  };
  return {
    schedule({ body }, caller, conclusion) {
      askFor(scheduleMessage(body, caller.credential), conclusion, (reply) =>
        reply.ok ? scheduled(reply.answer, placement) : reply,
      );
    },

    confirm({ params, body }, caller, conclusion) {
      const { sandbox_id: sandboxId, force = false } = body;
      move(caller, { type: "confirm", handle: params.token, sandboxId, force }, conclusion);
    },
    cancel({ params, body }, caller, conclusion) {
      const { reason = null } = body;
      move(caller, { type: "cancel", handle: params.token, reason }, conclusion);
    },
    renew({ params }, caller, conclusion) {
      move(caller, { type: "renew", handle: params.token }, conclusion);
    },
    uncertain({ params }, caller, conclusion) {
      move(caller, { type: "uncertain", handle: params.token }, conclusion);
    },
    getReservation({ params }, caller, conclusion) {
      move(caller, { type: "get_reservation", handle: params.token }, conclusion);
    },
    listReservations({ query }, _caller, conclusion) {
      const message = {
        type: "list_reservations",
        nodeId: query.node_id ?? null,
        state: query.state ?? null,
        limit: query.limit ?? USUAL_LIMIT,
        cursor: query.cursor ?? null,
      } as const;
      ask(message, conclusion, ({ reservations, cursor }) => ({
        reservations: reservations.map(reservationOf),
        cursor,
      }));
    },

    lookupSandbox({ params }, _caller, conclusion) {
      const looking = lookUpSandbox({ placement, directory }, params.sandbox_id);
      const shown = looking.then((reply) =>
        mapReply(reply, ({ nodeId, endpoint }) => ({ node: { node_id: nodeId, endpoint } })),
      );
      conclude(shown, conclusion);
    },
    recordAssignment({ params, body }, _caller, conclusion) {
      const { node_id: nodeId, endpoint } = body;
      const { sandbox_id: sandboxId } = params;
      ask({ type: "record_assignment", sandboxId, nodeId, endpoint }, conclusion, same);
    },
    deleteSandbox({ params }, _caller, conclusion) {
      ask({ type: "release_sandbox", sandboxId: params.sandbox_id }, conclusion, () => null);
    },

    heartbeat({ params, body }, caller, conclusion) {
      const endpointFixed = !maySetEndpoint(caller, params.node_id);
      ask({ ...heartbeatMessage(params.node_id, body), endpointFixed }, conclusion, same);
    },
    events({ params, body }, _caller, conclusion) {
      ask(eventsMessage(params.node_id, body), conclusion, same);
    },
    cordon({ params, body }, _caller, conclusion) {
      const { reason = null } = body;
      ask({ type: "cordon", nodeId: params.node_id, reason }, conclusion, shownNode);
    },
    uncordon({ params }, _caller, conclusion) {
      ask({ type: "uncordon", nodeId: params.node_id }, conclusion, shownNode);
    },
    clearCondition({ params }, _caller, conclusion) {
      const { node_id: nodeId, type: condition } = params;
      ask({ type: "clear_condition", nodeId, condition }, conclusion, shownNode);
    },
    unregister({ params, query }, _caller, conclusion) {
      const { service_instance_id: serviceInstanceId } = query;
      ask({ type: "unregister", nodeId: params.node_id, serviceInstanceId }, conclusion, () => null);
    },
    listNodes(_input, _caller, conclusion) {
      ask({ type: "list_nodes" }, conclusion, ({ nodes }) => ({ nodes: nodes.map(nodeOf) }));
    },
    getNode({ params }, _caller, conclusion) {
      ask({ type: "get_node", nodeId: params.node_id }, conclusion, shownNode);
    },

    healthz(_input, _caller, conclusion) {
      conclusion.finish({ ok: true, answer: { status: "ok" } });
    },
    readyz(_input, _caller, conclusion) {
      conclude(placement.readiness().then(readinessOf), conclusion);
    },
  };
}

function scheduled(answer: ScheduleAnswer, placement: PlacementClient): Handled<AnswerOf<"schedule">> {
  const { reservation } = answer;
  const shown = scheduleAnswerOf(answer);
  if (reservation === null) return { ok: true, answer: shown };
  return { ok: true, answer: shown, undelivered: () => placement.deliveryFailed(reservation.id) };
}

function readinessOf({ ready, waitsFor }: ReadinessAnswer): Reply<AnswerOf<"readyz">> {
  if (ready) return { ok: true, answer: { status: "ready" } };
  const message = `the scheduler is not ready: ${waitsFor ?? "it is starting"}`;
  return { ok: false, refusal: refuse("unavailable", message, { retry: "unchanged" }) };
}

function shownReservation({ reservation }: ReservationAnswer): { reservation: WireReservation } {
  return { reservation: reservationOf(reservation) };
}

function shownNode({ node }: NodeAnswer): { node: WireNode } {
  return { node: nodeOf(node) };
}

function same<Answer>(answer: Answer): Answer {
  return answer;
}
