/** What each call of scheduler.v1.Scheduler asks of which actor. */
import { Metadata } from "@grpc/grpc-js";
import { refuse } from "../../../messages/errors.ts";
import { formatTime } from "../../../messages/http/scalars.ts";
import type { NodeView } from "../../../messages/nodes.ts";
import type { Reply, ReservationView } from "../../../messages/placement.ts";
import type { HeartbeatRequest, SchedulerService } from "../../../messages/proto/generated/scheduler/v1/scheduler.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { TemplatesReference } from "../../directory/cpu-template/client.ts";
import type { ReportsReference } from "../../directory/reported/client.ts";
import { refusalOf } from "../../placement/client.ts";
import { mapReply } from "../handled.ts";
import { type ApiActors, DIRECTORY_DEADLINE_MS, lookUpSandbox } from "../sandbox-look-up.ts";
import { createArtifactHandlers, type PeerActors } from "./artifact-calls.ts";
import { identifier } from "./border.ts";
import { eventsMessage, heartbeatMessage, nodeReport, peerEndpoint } from "./node-reports.ts";
import { nodeOf, observedNodeOf } from "./observed-node.ts";
import { recordAssignmentMessage, scheduleMessage } from "./requests.ts";
import type { HandlersOf } from "./unary.ts";

export interface SchedulerActors extends ApiActors, PeerActors {
  readonly reports: ReportsReference;
  readonly cpuTemplates: TemplatesReference;
  readonly clock: Clock;
}

const TOKEN = "evenkeel-reservation-token";
const EXPIRES_AT = "evenkeel-reservation-expires-at";
const IN_TIME = { deadlineMs: DIRECTORY_DEADLINE_MS } as const;
const DONE = { ok: true, answer: {} } as const;

export function createSchedulerHandlers(actors: SchedulerActors): HandlersOf<SchedulerService> {
  const { placement, reports } = actors;
  return {
    ...createArtifactHandlers(actors),

    async schedule(request, { metadata, caller }) {
      const reply = await placement.ask(scheduleMessage(request, metadata, caller.credential));
      if (!reply.ok) return reply;
      const { node, reservation } = reply.answer;
      const answer = { node: nodeOf(node) };
      if (reservation === null) return { ok: true, answer };
      const undelivered = (): void => placement.deliveryFailed(reservation.id);
      const { token } = reservation;
      if (token === null) return { ok: true, answer, undelivered };
      return { ok: true, answer, undelivered, metadata: tokenMetadata(token, reservation) };
    },

    async lookupNode({ sandboxId }) {
      const reply = await lookUpSandbox(actors, identifier(sandboxId, "sandbox_id"));
      return mapReply(reply, (node) => ({ node: nodeOf(node) }));
    },
    async recordAssignment(request) {
      const reply = await placement.ask(recordAssignmentMessage(request));
      return reply.ok ? DONE : reply;
    },

    heartbeat: (request) => takeHeartbeat(actors, request),
    async reportSandboxEvent(request) {
      const reply = await placement.ask(eventsMessage(request));
      return reply.ok ? DONE : reply;
    },
    async unregisterNode(request) {
      const nodeId = identifier(request.nodeId, "node_id");
      const serviceInstanceId = identifier(request.serviceInstanceId, "service_instance_id");
      const reply = await placement.ask({ type: "unregister", nodeId, serviceInstanceId });
      return reply.ok ? DONE : reply;
    },

    async listNodes() {
      const reply = await placement.ask({ type: "list_nodes" });
      return mapReply(reply, ({ nodes }) => ({ nodes: nodes.map(nodeOf) }));
    },
    async listObservedNodes({ clusterId }) {
      const reply = await placement.ask({ type: "list_nodes" });
      if (!reply.ok) return reply;
      const kept = await reports.ask({ type: "list_reports" }, IN_TIME);
      if (!kept.ok) return { ok: false, refusal: refusalOf(kept.error) };
      const observed = reply.answer.nodes.filter((node) => node.lastSeenUnixMs !== null && isIn(node, clusterId));
      const nodes = observed.map((node) => observedNodeOf(node, kept.value.reports.get(node.nodeId) ?? null));
      return { ok: true, answer: { nodes } };
    },
    async getNode(request) {
      const nodeId = identifier(request.nodeId, "node_id");
      const reply = await placement.ask({ type: "get_node", nodeId });
      if (!reply.ok) return reply;
      const { node } = reply.answer;
      if (!isIn(node, request.clusterId)) return { ok: false, refusal: refuse("not_found", "node not found") };
      const kept = await reports.ask({ type: "get_report", nodeId }, IN_TIME);
      if (!kept.ok) return { ok: false, refusal: refusalOf(kept.error) };
      return { ok: true, answer: { node: observedNodeOf(node, kept.value.report) } };
    },
  };
}

function tokenMetadata(token: string, { expiresAtUnixMs }: ReservationView): Metadata {
  const metadata = new Metadata();
  metadata.set(TOKEN, token);
  // A repeat of the request may come when the lease is over.
  if (expiresAtUnixMs !== null) metadata.set(EXPIRES_AT, formatTime(expiresAtUnixMs));
  return metadata;
}

/** An empty cluster id asks for whichever. */
function isIn({ clusterId }: NodeView, wanted: string): boolean {
  return wanted === "" || clusterId === wanted;
}

/** Placement first: what it ignores (a superseded instance, one that has just unregistered) nobody else takes in. */
async function takeHeartbeat(
  { placement, reports, peers, cpuTemplates, clock }: SchedulerActors,
  request: HeartbeatRequest,
): Promise<Reply<{ cpuConfigJson: string }>> {
  const message = heartbeatMessage(request);
  const report = nodeReport(request, clock.wallMs());
  const endpoint = peerEndpoint(request);
  const reply = await placement.ask(message);
  if (!reply.ok) return reply;
  const { nodeId, serviceInstanceId } = message;
  const seen = await placement.ask({ type: "get_node", nodeId });
  // Unanswered (overloaded) it counts: a CPU template comes only once.
  const view = seen.ok ? seen.answer.node : null;
  const counted = view === null ? !seen.ok && seen.refusal.code !== "not_found" : isPresent(view, serviceInstanceId);
  if (!counted) return { ok: true, answer: { cpuConfigJson: "" } };
  const { clusterId } = request;
  const ready = message.snapshot?.status === "READY";
  reports.tell({ type: "node_reported", report });
  peers.tell({ type: "peer_reported", report: { nodeId, clusterId, endpoint, ready } });
  const cpuConfigJson = request.machineInfo?.cpuConfigJson ?? "";
  const heartbeat = { nodeId, clusterId, cpuConfigJson };
  const template = await cpuTemplates.ask({ type: "template_reported", heartbeat }, IN_TIME);
  return { ok: true, answer: { cpuConfigJson: template.ok ? template.value.cpuConfigJson : "" } };
}

function isPresent(view: NodeView, serviceInstanceId: string): boolean {
  return view.serviceInstanceId === serviceInstanceId && view.status !== "UNHEALTHY";
}
