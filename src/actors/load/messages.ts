/** What is said between the program of a load run and its actors in worker threads. */

import type { LoadPlan } from "./plan.ts";
import type { Amounts } from "./played-node.ts";
import type { ClientRecord, Durations, Grant, GrantEnd } from "./records.ts";
import type { Problem, SchedulerAccess } from "./scheduler-calls.ts";

/** Begins to fire the requests `first`, `first + step`, … of the plan. Answered when the last is done. */
export interface Fire {
  readonly type: "fire";
  readonly plan: LoadPlan;
  readonly first: number;
  readonly step: number;
  /** How many requests are in flight at once. */
  readonly concurrency: number;
  /** The run's own nodes. */
  readonly nodeIds: readonly string[];
  /** Those that the scheduler had before. */
  readonly excludeNodeIds: readonly string[];
}

/** Sends no further request; those in flight are brought to their end. */
export interface StopFiring {
  readonly type: "stop_firing";
}

export type RequesterMessage = Fire | StopFiring;

export interface Fired {
  readonly records: readonly ClientRecord[];
  readonly durationsMs: Durations;
  /** All calls that were answered. */
  readonly calls: number;
}

export type RequesterReplies = { fire: Fired };

/** Posted by a requester: a create has succeeded on a node. */
export interface SandboxCreated {
  readonly type: "sandbox_created";
  readonly nodeId: string;
  readonly sandboxId: string;
  readonly amounts: Amounts;
}

/** Posted by a requester: it has taken a sandbox down again. Of one that the node does not have, nothing comes. */
export interface SandboxEnded {
  readonly type: "sandbox_ended";
  readonly nodeId: string;
  readonly sandboxId: string;
}

/** Posted by a requester now and then: so many more requests are done. */
export interface RequestsDone {
  readonly type: "requests_done";
  readonly count: number;
}

/** Posted by a requester where the scheduler is killed now and then: what a client was told last of a reservation. */
export interface Promised {
  readonly type: "promised";
  readonly grant: Grant;
  /** `granted`: nothing but that it was made. */
  readonly end: GrantEnd | "granted";
}

export type RequesterPost = SandboxCreated | SandboxEnded | RequestsDone | Promised;

/** One round of heartbeats, after those that are under way. Answered when all have been. */
export interface Report {
  readonly type: "report";
}

/** Every sandbox ends; the next report says so. */
export interface EndSandboxes {
  readonly type: "end_sandboxes";
}

/** Ends the rounds; the nodes that were accepted report once more and are taken out again. */
export interface Unregister {
  readonly type: "unregister";
}

/** The actor's own: a round is due. */
export interface RoundDue {
  readonly type: "round_due";
}

export type SyntheticNodesMessage = SandboxCreated | SandboxEnded | Report | EndSandboxes | Unregister | RoundDue;

export interface RoundEnd {
  /** What went wrong with the first call that did; null: nothing. */
  readonly problem: Problem | null;
}

export type SyntheticNodesReplies = { report: RoundEnd; unregister: RoundEnd };

export interface RequesterInit {
  readonly scheduler: SchedulerAccess;
  readonly connections: number;
}

/** A node to play. */
export interface NodeRole {
  readonly nodeId: string;
  /** What its reports show; null: what all calls do. */
  readonly token: string | null;
}

export interface SyntheticNodesInit {
  readonly scheduler: SchedulerAccess;
  readonly prefix: string;
  readonly nodes: readonly NodeRole[];
  readonly capacity: Amounts;
  readonly heartbeatIntervalMs: number;
}
