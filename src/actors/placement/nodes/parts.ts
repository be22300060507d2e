/**
 * A part of a node (runtime or daemon) and the order of its reports. Order is that of arrival; what a report says of its
 * own age is compared with the same instance only, never with the scheduler's clock.
 */

// A node's clock set back by more than this starts a new order; by less, a report was overtaken on its way.
const OVERTAKEN_MS_MAX = 60_000;
// Instances remembered as superseded. More than a few at a time means that an id is shared by a crowd, and then any
// choice among them is as good.
const SUPERSEDED_MAX = 8;

export interface Part {
  serviceInstanceId: string | null;
  /** Arrival of the newest report or sign of life; null: never heard. */
  lastArrivalMs: number | null;
  /** End of the newest stall of this process that began while the part spoke: its silence counts from here, if later. */
  stallEndMs: number;
  lastSequence: number | null;
  lastReportedAtUnixMs: number | null;
  /** Earlier instances, oldest first. */
  readonly superseded: string[];
}

export interface ReportOrder {
  readonly serviceInstanceId: string;
  readonly sequence: number | null;
  readonly reportedAtUnixMs: number | null;
}

/**
 * What a report counts as. `ignored`: of a superseded instance while the newer one is fresh. `sign_of_life`: overtaken
 * or sent twice. `new_instance` and `returned_instance` open an epoch, the latter by an instance that was superseded.
 */
export type ReportStanding = "ignored" | "sign_of_life" | "in_order" | "new_instance" | "returned_instance";

export function newPart(): Part {
  return {
    serviceInstanceId: null,
    lastArrivalMs: null,
    stallEndMs: Number.NEGATIVE_INFINITY,
    lastSequence: null,
    lastReportedAtUnixMs: null,
    superseded: [],
  };
}

export function judgeReport(part: Part, order: ReportOrder, fresh: boolean): ReportStanding {
  if (part.serviceInstanceId !== order.serviceInstanceId) {
    if (!part.superseded.includes(order.serviceInstanceId)) return "new_instance";
    return fresh ? "ignored" : "returned_instance";
  }
  return isOvertaken(part, order) ? "sign_of_life" : "in_order";
}

function isOvertaken(part: Part, order: ReportOrder): boolean {
  if (order.sequence !== null) return part.lastSequence !== null && order.sequence <= part.lastSequence;
  if (order.reportedAtUnixMs === null || part.lastReportedAtUnixMs === null) return false;
  const behindMs = part.lastReportedAtUnixMs - order.reportedAtUnixMs;
  return behindMs >= 0 && behindMs <= OVERTAKEN_MS_MAX;
}

/** Takes over what the report says of its place, unless it is to be ignored. */
export function noteReport(part: Part, order: ReportOrder, standing: ReportStanding, nowMs: number): void {
  if (standing === "ignored") return;
  part.lastArrivalMs = nowMs;
  if (standing === "sign_of_life") return;
  if (standing !== "in_order") supersede(part, order.serviceInstanceId);
  if (order.sequence !== null) part.lastSequence = order.sequence;
  if (order.reportedAtUnixMs !== null) part.lastReportedAtUnixMs = order.reportedAtUnixMs;
}

function supersede(part: Part, serviceInstanceId: string): void {
  const old = part.serviceInstanceId;
  const at = part.superseded.indexOf(serviceInstanceId);
  if (at >= 0) part.superseded.splice(at, 1);
  if (old !== null) part.superseded.push(old);
  if (part.superseded.length > SUPERSEDED_MAX) part.superseded.shift();
  part.serviceInstanceId = serviceInstanceId;
  part.lastSequence = null;
  part.lastReportedAtUnixMs = null;
}
