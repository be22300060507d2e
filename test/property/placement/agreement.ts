/** Compares what the core answers and shows with what the model expects, in words. */
import type { TurnOutcome } from "../../../src/actors/placement/turn.ts";
import type { NodeView } from "../../../src/messages/nodes.ts";
import type { PlacementMessage, ReservationView } from "../../../src/messages/placement.ts";
import { whyOut } from "./model/candidates.ts";
import {
  capacityOf,
  countOf,
  inFlightOf,
  isFresh,
  isLive,
  keepsHealthy,
  type ModelNode,
  type ModelReservation,
  type ModelState,
  projectedOf,
} from "./model/facts.ts";
import type { Expectation } from "./model/model.ts";
import { isBehind, pressureOf } from "./model/ranking.ts";
import type { AnyReply } from "./walk.ts";

type Facts = Readonly<Record<string, unknown>>;

function differences(what: string, expected: Facts, got: Facts): string[] {
  return Object.keys(expected)
    .filter((key) => JSON.stringify(expected[key]) !== JSON.stringify(got[key]))
    .map((key) => `${what}: ${key} should be ${JSON.stringify(expected[key])}, is ${JSON.stringify(got[key])}`);
}

/** Where the answer to one message differs. */
export function answerDifferences(
  message: PlacementMessage,
  expected: Expectation,
  { reply, notices }: TurnOutcome<AnyReply>,
  before: { readonly generation: number },
): string[] {
  const failed = notices.filter(({ type }) => type === "handler_failed").map((notice) => JSON.stringify(notice));
  const code = reply.ok ? null : reply.refusal.code;
  if (code !== expected.refusal) {
    const said = reply.ok ? "" : ` (${reply.refusal.message})`;
    return [...failed, `${message.type}: should be ${expected.refusal ?? "ok"}, is ${code ?? "ok"}${said}`];
  }
  if (!reply.ok) {
    if (expected.reasons === undefined) return failed;
    return [
      ...failed,
      ...differences(
        message.type,
        { reasons: sorted(expected.reasons) },
        { reasons: sorted(reply.refusal.details.reasons) },
      ),
    ];
  }
  const { answer } = reply;
  const got: Record<string, unknown> = {};
  const wanted: Record<string, unknown> = {};
  if ("node" in answer && "reservation" in answer) {
    wanted.nodeId = expected.nodeId;
    got.nodeId = answer.node.nodeId;
    wanted.reserved = expected.reservation !== null;
    got.reserved = answer.reservation !== null;
    wanted.repeated = expected.repeated;
    got.repeated = answer.repeated;
  }
  if ("generation" in answer && expected.accepted !== undefined) {
    wanted.accepted = expected.accepted;
    got.accepted = answer.generation > before.generation;
  }
  const view = "reservation" in answer ? answer.reservation : null;
  const shown = expected.reservation ?? null;
  const ofView = view === null || shown === null ? [] : reservationDifferences(shown, view, 0);
  return [...failed, ...differences(message.type, wanted, got), ...ofView];
}

/** Reasons in one order, and without what they say of paused sandboxes. */
function sorted(reasons: unknown): unknown {
  const entries = Object.entries((reasons ?? {}) as Record<string, number>);
  return entries.map(([reason, count]) => [reason.replace(/:.*/, ""), count]).sort();
}

/** `wallAheadMs` is wall minus monotonic time; 0 leaves times out. */
export function reservationDifferences(model: ModelReservation, view: ReservationView, wallAheadMs: number): string[] {
  const live = isLive(model);
  const wanted: Facts = {
    id: model.id,
    state: model.state,
    managed: model.managed,
    nodeId: model.nodeId,
    sandboxId: model.sandboxId,
    cpuMillicores: live ? model.charge.cpu : 0,
    memoryBytes: live ? model.charge.memory : 0,
    ...(model.state === "pending" ? { uncertain: model.uncertain } : {}),
    ...(live || model.state === "settled" ? { late: model.late } : {}),
    ...(wallAheadMs === 0
      ? {}
      : { expiresAtUnixMs: model.state === "pending" ? model.leaseEndMs + wallAheadMs : null }),
  };
  return differences(model.id, wanted, { ...view });
}

/** Where a node is shown otherwise than the model has it. */
export function nodeDifferences(state: ModelState, node: ModelNode, view: NodeView, nowMs: number): string[] {
  const capacity = capacityOf(node);
  const projected = projectedOf(state, node);
  const room = {
    cpu: capacity.cpu === null ? null : capacity.cpu * state.config.overcommit.cpu,
    memory: capacity.memory === null ? null : capacity.memory * state.config.overcommit.memory,
  };
  const pending = countOf(state, node, "pending");
  const confirmed = countOf(state, node, "confirmed");
  const inFlight = inFlightOf(state, node);
  const anything = { creates: false, managed: true, demand: { cpu: null, memory: null }, excludeNodeIds: [] };
  const heard = keepsHealthy(node);
  const isOut = node.unregistered !== null || (heard !== null && !isFresh(state, heard, nowMs));
  const status = isOut ? "UNHEALTHY" : node.snapshot?.status;
  const wanted: Facts = {
    ...(heard === null || status === undefined ? {} : { status }),
    cordoned: node.cordoned,
    conditions: [...node.conditions].sort(),
    capacity: { cpuMillicores: capacity.cpu, memoryBytes: capacity.memory },
    inFlight: { cpuMillicores: inFlight.cpu, memoryBytes: inFlight.memory, count: pending + confirmed },
    projected: {
      cpuMillicores: projected.cpu,
      memoryBytes: projected.memory,
      starting: (node.snapshot?.sandboxStartingCount ?? 0) + pending,
      pressure: pressureOf(state, node, null),
    },
    available: {
      cpuMillicores: room.cpu === null ? null : Math.max(0, room.cpu - projected.cpu),
      memoryBytes: room.memory === null ? null : Math.max(0, room.memory - projected.memory),
    },
    overLimit:
      projected.cpu > (room.cpu ?? Number.POSITIVE_INFINITY) ||
      projected.memory > (room.memory ?? Number.POSITIVE_INFINITY),
    reservations: { pending, confirmed },
    accounting: node.ledger ? "ledger" : node.rosterInEpoch ? "roster" : "sums",
    demoted: isBehind(state, node, nowMs),
    schedulable: whyOut(state, node, anything, nowMs) === null,
  };
  const conditions = view.conditions.map(({ type }) => type).sort();
  return differences(node.nodeId, wanted, { ...view, conditions });
}
