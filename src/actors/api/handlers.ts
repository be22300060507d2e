/** What each call of the HTTP API asks of which actor. */
import { refuse } from "../../messages/errors.ts";
import { eventsMessage, heartbeatMessage } from "../../messages/http/heartbeat.ts";
import { nodeOf, type WireNode } from "../../messages/http/node.ts";
import { reservationOf, USUAL_LIMIT, type WireReservation } from "../../messages/http/reservation.ts";
import { scheduleAnswerOf, scheduleMessage } from "../../messages/http/schedule.ts";
import type { NodeAnswer, Reply, ReservationAnswer } from "../../messages/placement.ts";
import { type Handlers, mapReply } from "./handled.ts";
import { type ApiActors, lookUpSandbox } from "./sandbox-look-up.ts";

/** Without tokens in force everybody is the same caller, and request ids have one scope. */
export const ANYBODY = "anybody";

export function createHandlers({ placement, directory }: ApiActors): Handlers {
  return {
    async schedule({ body }) {
      const reply = await placement.ask(scheduleMessage(body, ANYBODY));
      if (!reply.ok) return reply;
      const { reservation } = reply.answer;
      const answer = scheduleAnswerOf(reply.answer);
      if (reservation === null) return { ok: true, answer };
      return { ok: true, answer, undelivered: () => placement.deliveryFailed(reservation.id) };
    },

    async confirm({ params, body }) {
      const { sandbox_id: sandboxId, force = false } = body;
      return moved(await placement.ask({ type: "confirm", handle: params.token, sandboxId, force }));
    },
    async cancel({ params, body }) {
      const { reason = null } = body;
      return moved(await placement.ask({ type: "cancel", handle: params.token, reason }));
    },
    async renew({ params }) {
      return moved(await placement.ask({ type: "renew", handle: params.token }));
    },
    async uncertain({ params }) {
      return moved(await placement.ask({ type: "uncertain", handle: params.token }));
    },
    async getReservation({ params }) {
      return moved(await placement.ask({ type: "get_reservation", handle: params.token }));
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
    async deleteSandbox({ params }) {
      const reply = await placement.ask({ type: "release_sandbox", sandboxId: params.sandbox_id });
      return mapReply(reply, () => null);
    },

    async heartbeat({ params, body }) {
      return placement.ask(heartbeatMessage(params.node_id, body));
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

function moved(reply: Reply<ReservationAnswer>): Reply<{ reservation: WireReservation }> {
  return mapReply(reply, ({ reservation }) => ({ reservation: reservationOf(reservation) }));
}

function shown(reply: Reply<NodeAnswer>): Reply<{ node: WireNode }> {
  return mapReply(reply, ({ node }) => ({ node: nodeOf(node) }));
}
