/** Asks a scheduler what it charges: the part of an audit's evidence that is the scheduler's. */
import type { Clock } from "../../ports/clock.ts";
import type { Evidence, NodeEvidence, ReservationEvidence } from "./audit.ts";
import { apiErrorIn, isSuccess, type Problem, problemIn, type SchedulerCalls } from "./scheduler-calls.ts";

export type SchedulerEvidence = Pick<Evidence, "nodes" | "live" | "askedAtWallMs" | "answeredAtWallMs">;

/** The scheduler did not answer, or not as it should. */
export class EvidenceError extends Error implements Problem {
  /** The API's; null where it gave none. */
  readonly code: string | null;

  constructor(message: string, code: string | null = null) {
    super(message);
    this.code = code;
  }
}

/** Nothing answers at its address. */
export class UnreachableError extends EvidenceError {}

const PAGE = 10_000;

export interface EvidencePorts {
  readonly calls: SchedulerCalls;
  readonly clock: Clock;
  /** Whether a node is one of the run's. */
  readonly isOwn: (nodeId: string) => boolean;
}

/** What is charged on the nodes of the run. Throws `EvidenceError`. */
export async function gatherEvidence({ calls, clock, isOwn }: EvidencePorts): Promise<SchedulerEvidence> {
  const askedAtWallMs = clock.wallMs();
  const nodes = await listNodes(calls);
  const live = await listReservations(calls, null);
  return {
    nodes: nodes.filter(({ node_id: nodeId }) => isOwn(nodeId)).map(nodeEvidence),
    live: live.filter(({ nodeId }) => isOwn(nodeId)),
    askedAtWallMs,
    answeredAtWallMs: clock.wallMs(),
  };
}

/** Whether the scheduler takes requests, and why not. Throws `UnreachableError`. */
export async function readinessOf(calls: SchedulerCalls): Promise<{ readonly ready: boolean; readonly why: string }> {
  const end = await calls.call({ method: "GET", path: "/readyz" });
  if (!end.answered) throw new UnreachableError(problemIn(end));
  return { ready: isSuccess(end), why: isSuccess(end) ? "" : problemIn(end) };
}

interface WireNode {
  readonly node_id: string;
  readonly capacity: WireAmounts;
  readonly projected: WireAmounts;
  readonly in_flight: WireAmounts & { readonly count: number };
}

interface WireAmounts {
  readonly cpu: number | null;
  readonly memory_bytes: number | null;
}

/** Every node that the scheduler shows. Throws `EvidenceError`. */
export async function listNodes(calls: SchedulerCalls): Promise<readonly WireNode[]> {
  const { nodes } = (await read(calls, "/v1/nodes")) as { readonly nodes: readonly WireNode[] };
  return nodes;
}

function nodeEvidence({ node_id: nodeId, capacity, projected, in_flight: inFlight }: WireNode): NodeEvidence {
  return {
    nodeId,
    capacity: charge(capacity),
    projected: charge(projected),
    inFlight: { ...charge(inFlight), count: inFlight.count },
  };
}

/** Sums are whole millicores; only their way over the wire, in cores, is not exact. */
function charge({ cpu, memory_bytes: memoryBytes }: WireAmounts): NodeEvidence["capacity"] {
  return { cpuMillicores: Math.round((cpu ?? 0) * 1000), memoryBytes: memoryBytes ?? 0 };
}

/** Reservations that are pending or confirmed, or in the state that is named. Throws `EvidenceError`. */
export async function listReservations(calls: SchedulerCalls, state: string | null): Promise<ReservationEvidence[]> {
  const live: ReservationEvidence[] = [];
  let cursor: string | null = null;
  do {
    const from: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const which: string = state === null ? "" : `&state=${state}`;
    const page = (await read(calls, `/v1/reservations?limit=${PAGE}${which}${from}`)) as {
      readonly reservations: readonly { readonly id: string; readonly node_id: string; readonly state: string }[];
      readonly cursor: string | null;
    };
    for (const { id, node_id: nodeId, state } of page.reservations) live.push({ id, nodeId, state });
    ({ cursor } = page);
  } while (cursor !== null);
  return live;
}

async function read(calls: SchedulerCalls, path: string): Promise<unknown> {
  const end = await calls.call({ method: "GET", path });
  if (!end.answered) throw new UnreachableError(problemIn(end));
  if (!isSuccess(end)) throw new EvidenceError(problemIn(end), apiErrorIn(end)?.code);
  return end.body;
}
