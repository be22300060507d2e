import type { EventEmitter } from "eventemitter3";
import type { Log } from "../kernel/actor.ts";
import type { PlacementEvents } from "./client.ts";
import type { Change } from "./events.ts";
import type { Notice } from "./turn.ts";

/**
 * Logs what an operator wants to read later: each change of a node once, with what caused it. What happens to
 * reservations is counted and not logged: there are thousands of them a second.
 */
export function logChanges(events: EventEmitter<PlacementEvents>, log: Log): void {
  events.on("committed", (what) => {
    for (const { change } of what.events) logChange(change, log);
    for (const notice of what.notices) logNotice(notice, log);
  });
  events.on("commitFailed", ({ reason, retryMs }) => {
    log.error({ reason, retryMs }, `the log failed: ${reason}; rebuilding from it in ${retryMs} ms`);
  });
}

function logChange(change: Change, log: Log): void {
  switch (change.type) {
    case "condition_entered": {
      const { nodeId, condition, value } = change;
      return log.warn({ nodeId, condition, value }, `node ${nodeId} is under ${condition} at ${value}`);
    }
    case "condition_left": {
      const { nodeId, condition, cause, value } = change;
      return log.info({ nodeId, condition, cause, value }, `node ${nodeId} has left ${condition}: ${cause}`);
    }
    case "cordoned":
      return log.info({ nodeId: change.nodeId, reason: change.reason }, `node ${change.nodeId} is cordoned`);
    case "uncordoned":
      return log.info({ nodeId: change.nodeId }, `node ${change.nodeId} is no longer cordoned`);
    case "node_registered":
      return log.info({ nodeId: change.nodeId, endpoint: change.endpoint }, `node ${change.nodeId} is registered`);
    case "node_endpoint_set":
      return log.info({ nodeId: change.nodeId, endpoint: change.endpoint }, `node ${change.nodeId} has a new endpoint`);
    case "node_unregistered":
      return log.info({ nodeId: change.nodeId }, `node ${change.nodeId} has unregistered`);
    case "node_dropped":
      return log.info({ nodeId: change.nodeId }, `node ${change.nodeId} is forgotten`);
    default:
      return;
  }
}

function logNotice(notice: Notice, log: Log): void {
  switch (notice.type) {
    case "identity_conflict":
      return log.warn({ ...notice }, `an older instance of node ${notice.nodeId} reports again`);
    case "late_confirmation":
      return log.warn({ ...notice }, `a confirm came late on node ${notice.nodeId}`);
    case "orphaned_confirmation":
      return log.warn({ ...notice }, `a confirmed sandbox never showed on node ${notice.nodeId}`);
    case "node_demoted":
      return log.warn({ ...notice }, `node ${notice.nodeId} fails creates and ranks behind all others`);
    case "stalled":
      return log.warn({ ...notice }, `this process stood still for ${Math.round(notice.silentMs)} ms`);
    case "handler_failed":
      return log.error({ ...notice }, `a message could not be handled: ${notice.message}`);
    default:
      return;
  }
}
