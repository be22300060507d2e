/** Whose each call is, where tokens are in force; the HTTP API's table has the same as a column. */
import type { Metadata } from "@grpc/grpc-js";
import type { Callers } from "../../../messages/callers.ts";
import type { ReservationsService } from "../../../messages/proto/generated/evenkeel/v1/reservations.ts";
import type { SchedulerService } from "../../../messages/proto/generated/scheduler/v1/scheduler.ts";

export type CallersOf<Service> = { readonly [Name in keyof Service]: Callers };

export const SCHEDULER_CALLERS: CallersOf<SchedulerService> = {
  schedule: "client",
  lookupNode: "client",
  recordAssignment: "client",
  heartbeat: "node",
  reportSandboxEvent: "node",
  // A runtime says goodbye over gRPC itself. One whose token names no node could do it for the whole fleet.
  unregisterNode: "own node",
  listNodes: "operator",
  listObservedNodes: "operator",
  getNode: "operator",
  listP2PPeers: "node",
  recordP2PArtifact: "node",
  forgetP2PArtifact: "node",
  lookupP2PArtifact: "node",
};

export const RESERVATIONS_CALLERS: CallersOf<ReservationsService> = {
  confirm: "client",
  cancel: "client",
  renew: "client",
  markUncertain: "client",
  get: "client",
  list: "client",
};

/** What stands in the call's `authorization` metadata; several values are none. */
export function authorizationOf(metadata: Metadata): string | undefined {
  const values = metadata.get("authorization");
  return values.length === 1 ? String(values[0]) : undefined;
}
