/** What each call of the HTTP API asks of which actor. */
import { type Caller, maySetEndpoint, refuseHandle } from "../../messages/callers.ts";
import { refuse } from "../../messages/errors.ts";
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
  Renew,
  Reply,
  ReservationAnswer,
} from "../../messages/placement.ts";
import { type Handlers, mapReply } from "./handled.ts";
import { type ApiActors, lookUpSandbox } from "./sandbox-look-up.ts";

type Move = Confirm | Cancel | Renew | MarkUncertain | GetReservation;

export function createHandlers({ placement, directory }: ApiActors): Handlers {
  const move = async (caller: Caller, message: Move): Promise<Reply<{ reservation: WireReservation }>> => {
    const refusal = refuseHandle(caller, message.handle);
    if (refusal !== null) return { ok: false, refusal };
    const reply: Reply<ReservationAnswer> = await placement.ask(message);
    return mapReply(reply, ({ reservation }) => ({ reservation: reservationOf(reservation) }));
  };
  return {
    async schedule({ body }, caller) {
      const reply = await placement.ask(scheduleMessage(body, caller.credential));
      if (!reply.ok) return reply;
      const { reservation } = reply.answer;
      const answer = scheduleAnswerOf(reply.answer);
      if (reservation === null) return { ok: true, answer };
      return { ok: true, answer, undelivered: () => placement.deliveryFailed(reservation.id) };
    },

    async confirm({ params, body }, caller) {
      const { sandbox_id: sandboxId, force = false } = body;
      return move(caller, { type: "confirm", handle: params.token, sandboxId, force });
    },
    async cancel({ params, body }, caller) {
      const { reason = null } = body;
      return move(caller, { type: "cancel", handle: params.token, reason });
    },
    async renew({ params }, caller) {
      return move(caller, { type: "renew", handle: params.token });
    },
    async uncertain({ params }, caller) {
      return move(caller, { type: "uncertain", handle: params.token });
    },
    async getReservation({ params }, caller) {
      return move(caller, { type: "get_reservation", handle: params.token });
    },
    async listReservations({ query }) {
      const reply = await placement.ask({
        type: "list_reservations",
        nodeId: query.node_id ?? null,
        state: query.state ?? null,
        limit: query.limit ?? USUAL_LIMIT,
        cursor: query.cursor ?? null,
      });
      return mapReply(reply, ({ reservations, cursor }) => ({ reservations: reservations.map(reservationOf), cursor }));
    },

    async lookupSandbox({ params }) {
      const reply = await lookUpSandbox({ placement, directory }, params.sandbox_id);
      return mapReply(reply, ({ nodeId, endpoint }) => ({ node: { node_id: nodeId, endpoint } }));
    },
    async recordAssignment({ params, body }) {
      const { node_id: nodeId, endpoint } = body;
      return placement.ask({ type: "record_assignment", sandboxId: params.sandbox_id, nodeId, endpoint });
    },
    async deleteSandbox({ params }) {
      const reply = await placement.ask({ type: "release_sandbox", sandboxId: params.sandbox_id });
      return mapReply(reply, () => null);
    },

    async heartbeat({ params, body }, caller) {
      const endpointFixed = !maySetEndpoint(caller, params.node_id);
      return placement.ask({ ...heartbeatMessage(params.node_id, body), endpointFixed });
    },
    async events({ params, body }) {
      return placement.ask(eventsMessage(params.node_id, body));
    },
    async cordon({ params, body }) {
      const { reason = null } = body;
      return shown(await placement.ask({ type: "cordon", nodeId: params.node_id, reason }));
    },
    async uncordon({ params }) {
      return shown(await placement.ask({ type: "uncordon", nodeId: params.node_id }));
    },
    async clearCondition({ params }) {
      const { node_id: nodeId, type: condition } = params;
      return shown(await placement.ask({ type: "clear_condition", nodeId, condition }));
    },
    async unregister({ params, query }) {
      const reply = await placement.ask({
        type: "unregister",
        nodeId: params.node_id,
        serviceInstanceId: query.service_instance_id,
      });
      return mapReply(reply, () => null);
    },
    async listNodes() {
      const reply = await placement.ask({ type: "list_nodes" });
      return mapReply(reply, ({ nodes }) => ({ nodes: nodes.map(nodeOf) }));
    },
    async getNode({ params }) {
      return shown(await placement.ask({ type: "get_node", nodeId: params.node_id }));
    },

    async healthz() {
      return { ok: true, answer: { status: "ok" } };
    },
    async readyz() {
      const { ready, waitsFor } = await placement.readiness();
      if (ready) return { ok: true, answer: { status: "ready" } };
      const message = `the scheduler is not ready: ${waitsFor ?? "it is starting"}`;
      return { ok: false, refusal: refuse("unavailable", message, { retry: "unchanged" }) };
    },
  };
}

function shown(reply: Reply<NodeAnswer>): Reply<{ node: WireNode }> {
  return mapReply(reply, ({ node }) => ({ node: nodeOf(node) }));
}
