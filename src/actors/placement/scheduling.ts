/** Selection, and the reservation that it makes: one step, so that the next request sees this one in flight. */
import { refuse } from "../../messages/errors.ts";
import type { Reply, Schedule, ScheduleAnswer } from "../../messages/placement.ts";
import { type Demand, demandOf } from "./candidates.ts";
import type { AssumedAmount } from "./config.ts";
import { type Core, rulesAt } from "./core.ts";
import { countManaged } from "./ledger/aggregates.ts";
import type { Reservation } from "./ledger/reservation.ts";
import { viewOf } from "./ledger/view.ts";
import { refuseForLackOfNodes } from "./no-nodes.ts";
import type { Node } from "./nodes/node.ts";
import type { Turn } from "./turn.ts";

export function schedule(core: Core, turn: Turn, request: Schedule): Reply<ScheduleAnswer> {
  const demand = demandOf(request);
  const requestKey =
    demand.creates && request.requestId !== null ? requestKeyOf(request.credential, request.requestId) : null;
  if (requestKey !== null) {
    const earlier = core.ledger.findByRequestKey(requestKey);
    if (earlier !== undefined) return repeat(core, earlier, request);
  }
  if (demand.creates && isGuarded(core, turn.now.nowMs)) {
    const message = "the scheduler has just started and waits for its nodes to report";
    return { ok: false, refusal: refuse("unavailable", message, { retry: "unchanged" }) };
  }
  const rules = rulesAt(core, turn.now.nowMs);
  const node = core.index.select(demand, rules);
  if (node === undefined) {
    return { ok: false, refusal: refuseForLackOfNodes(core.index.dropped(demand, rules)) };
  }
  core.turns += 1;
  core.slots.touch(node.account);
  node.lastChosenTurn = core.turns;
  const reservation = demand.creates ? reserve(core, turn, { node, demand, request, requestKey }) : null;
  const address = { nodeId: node.nodeId, endpoint: node.endpoint };
  const view = reservation === null ? null : viewOf(reservation, true);
  return { ok: true, answer: { node: address, reservation: view, repeated: false } };
}

/** Neither part can hold a line feed: the border takes printable characters only. */
function requestKeyOf(credential: string, requestId: string): string {
  return `${credential}\n${requestId}`;
}

/** The same attempt again: its reservation as it now is, ended ones too. */
function repeat(core: Core, earlier: Reservation, request: Schedule): Reply<ScheduleAnswer> {
  const { terms } = earlier;
  const same =
    terms.hint === request.hint &&
    terms.demandCpuMillicores === request.cpuMillicores &&
    terms.demandMemoryBytes === request.memoryBytes &&
    terms.managed === request.managed;
  if (!same) {
    const message = "the request_id was used for another demand";
    return { ok: false, refusal: refuse("conflict", message, { state: earlier.status }) };
  }
  const endpoint = core.fleet.nodes.get(terms.nodeId)?.endpoint ?? null;
  const node = { nodeId: terms.nodeId, endpoint };
  return { ok: true, answer: { node, reservation: viewOf(earlier, true), repeated: true } };
}

/** Whether creations wait for nodes to report after a start. */
export function isGuarded({ guarded, guardEndMs }: Core, nowMs: number): boolean {
  return guarded.size > 0 && nowMs < guardEndMs;
}

interface Reserving {
  readonly node: Node;
  readonly demand: Demand;
  readonly request: Schedule;
  readonly requestKey: string | null;
}

function reserve(core: Core, turn: Turn, { node, demand, request, requestKey }: Reserving): Reservation {
  const { config } = core;
  const { nodeId, figures } = node;
  if (!node.journaled) turn.emit({ type: "node_registered", nodeId, endpoint: null });
  const sandboxes = figures.running + figures.starting;
  const { cpu, memory } = config.assumedResources;
  const { id, token } = core.mint.next();
  turn.emit({
    type: "reserved",
    terms: {
      id,
      token: request.managed ? token : null,
      nodeId,
      managed: request.managed,
      hint: request.hint,
      demandCpuMillicores: demand.cpuMillicores,
      demandMemoryBytes: demand.memoryBytes,
      chargeCpuMillicores: demand.cpuMillicores ?? assumed(cpu, figures.allocatedCpuMillicores, sandboxes),
      chargeMemoryBytes: demand.memoryBytes ?? assumed(memory, figures.allocatedMemoryBytes, sandboxes),
      requestKey,
    },
    leaseMs: Math.min(config.placementReservationTtlMs, config.maxReservationAgeMs),
  });
  const reservation = node.account.newest;
  if (reservation?.terms.id !== id) throw new Error(`a reservation that was made is missing: ${id}`);
  countManaged(node, reservation);
  return reservation;
}

/** What an unknown demand is charged; `observed` is the mean of what runs and starts there, and 0 where nothing does. */
function assumed(amount: AssumedAmount, allocated: number, sandboxes: number): number {
  if (amount === "none") return 0;
  if (amount === "observed") return sandboxes === 0 ? 0 : Math.ceil(allocated / sandboxes);
  return amount;
}
