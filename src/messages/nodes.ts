/**
 * What nodes say about themselves and what is said about them. A node has two parts that report on their own: the
 * sandbox runtime (snapshot, roster, events) and the daemon (resource). CPU is in whole millicores, memory in whole
 * bytes, both at most 2^53 (the border refuses more).
 */
import type { Metric } from "./sampling.ts";

/** What a runtime may say of itself. Absent on the wire is READY over HTTP and CONNECTING over gRPC. */
export type ReportedStatus = "READY" | "CONNECTING" | "LINGERING";

/** As shown: UNHEALTHY is derived from silence, never reported. */
export type NodeStatus = ReportedStatus | "UNHEALTHY";

export const CONDITIONS = ["CPU_PRESSURE", "MEMORY_PRESSURE", "PID_PRESSURE", "FD_PRESSURE", "DISK_PRESSURE"] as const;
export type Condition = (typeof CONDITIONS)[number];

export interface DiskReport {
  readonly mountPoint: string;
  readonly device: string;
  readonly filesystemType: string;
  readonly usedBytes: number;
  readonly totalBytes: number;
}

/** The runtime's sums, read a moment before the roster of the same report. Absent amounts and counters are 0. */
export interface SnapshotReport {
  readonly status: ReportedStatus;
  /** Promised to running and starting sandboxes; paused ones are not in it. */
  readonly allocatedCpuMillicores: number;
  readonly allocatedMemoryBytes: number;
  /** Measured use, 0 to 100 (and beyond, as reported); meaningful only beside a positive capacity. */
  readonly cpuPercent: number;
  /** 0: not in this report; the last positive one stays in force. */
  readonly cpuCapacityMillicores: number;
  readonly memoryUsedBytes: number;
  /** 0: not in this report. */
  readonly memoryCapacityBytes: number;
  /** Sandboxes there, those being created or resumed and paused ones not counted. */
  readonly sandboxCount: number;
  readonly sandboxStartingCount: number;
  /** Counters since the start of the runtime. */
  readonly createSuccesses: number;
  readonly createFails: number;
  /** The node's clock, as sent; null when absent. Compared with itself only. */
  readonly reportedAtUnixMs: number | null;
  readonly pausedSandboxCount: number;
  readonly pausedAllocatedCpuMillicores: number;
  readonly pausedAllocatedMemoryBytes: number;
  readonly disks: readonly DiskReport[];
}

/** What the daemon measured: the part of a `/resource` answer that the scheduler reads. */
export interface ResourceReport {
  /** 0: not known to the daemon. */
  readonly cpuCapacityMillicores: number;
  readonly memoryCapacityBytes: number;
  /** Per metric a ratio within [0, 1]; null when there is no usable observation, which is never 0. */
  readonly utilization: Readonly<Record<Metric, number | null>>;
}

/**
 * One heartbeat, with the runtime part (`snapshot`, and `sandboxIds` when it lists its roster), the daemon part
 * (`resource`), or both. `serviceInstanceId` and `sequence` belong to each part that it carries.
 */
export interface Heartbeat {
  readonly type: "heartbeat";
  readonly nodeId: string;
  /** Where creates are sent; null leaves the known one. Ignored for nodes whose endpoint is configured. */
  readonly endpoint: string | null;
  /** Set where the sender may not say where the node is: another endpoint than the known one is then refused. */
  readonly endpointFixed?: boolean;
  readonly clusterId: string | null;
  readonly version: string | null;
  readonly serviceInstanceId: string;
  /** Increases with each report of the instance; null when the reporter has none. */
  readonly sequence: number | null;
  readonly snapshot: SnapshotReport | null;
  /** Every sandbox on the node, paused ones too. Null: no roster in this report; empty: nothing runs. */
  readonly sandboxIds: readonly string[] | null;
  readonly resource: ResourceReport | null;
  /** Increases with each observation of the daemon, so that one sent twice is not taken for two; null when absent. */
  readonly resourceSequence: number | null;
  /** The kernel's boot id, with the daemon part; null when absent. */
  readonly bootId: string | null;
  /** Whether the daemon says `"inventory": "none"`: no runtime reports for this node, the scheduler's ledger does. */
  readonly inventoryNone: boolean;
}

export const SANDBOX_EVENT_TYPES = ["CREATE", "DELETE", "PAUSE", "RESUME", "FORK"] as const;
export type SandboxEventType = (typeof SANDBOX_EVENT_TYPES)[number];

/** One event of a runtime; FORK once per child. Sent once, without retry: nothing may depend on one arriving. */
export interface SandboxEvent {
  readonly sandboxId: string;
  readonly eventType: SandboxEventType;
  /** 0: not said. */
  readonly requestedCpuMillicores: number;
  readonly requestedMemoryBytes: number;
}

export interface SandboxEvents {
  readonly type: "sandbox_events";
  readonly nodeId: string;
  readonly serviceInstanceId: string;
  readonly events: readonly SandboxEvent[];
}

/** Takes the node out by hand; running sandboxes stay. Idempotent; the newest reason is kept. */
export interface Cordon {
  readonly type: "cordon";
  readonly nodeId: string;
  readonly reason: string | null;
}

export interface Uncordon {
  readonly type: "uncordon";
  readonly nodeId: string;
}

/** An operator ends a pressure condition; it may come back after as many samples as the first time. */
export interface ClearCondition {
  readonly type: "clear_condition";
  readonly nodeId: string;
  readonly condition: Condition;
}

/** The runtime says goodbye. Must name its own instance; ok for a node never heard from. */
export interface UnregisterNode {
  readonly type: "unregister";
  readonly nodeId: string;
  readonly serviceInstanceId: string;
}

export interface GetNode {
  readonly type: "get_node";
  readonly nodeId: string;
}

/** Every known node, lingering ones too, sorted by id. */
export interface ListNodes {
  readonly type: "list_nodes";
}

/** How many nodes and live reservations there are: what metrics show, for a fraction of what `list_nodes` costs. */
export interface CountNodes {
  readonly type: "count_nodes";
  /** Where there are no more nodes than this, reservations are counted by node too. */
  readonly byNodeUpTo: number;
}

/** Where a sandbox is or shall be. `endpoint` is null only for a ledger node that has none. */
export interface NodeAddress {
  readonly nodeId: string;
  readonly endpoint: string | null;
}

/** How confirmed reservations leave the sums: by roster, by the second later snapshot, or by the ledger's own say. */
export type Accounting = "roster" | "sums" | "ledger";

export interface ConditionView {
  readonly type: Condition;
  readonly sinceUnixMs: number;
}

/** A node as shown. Null capacity: never known. */
export interface NodeView {
  readonly nodeId: string;
  readonly endpoint: string | null;
  readonly clusterId: string | null;
  readonly version: string | null;
  /** Of the runtime part (of the daemon on a ledger node); null before it was heard. */
  readonly serviceInstanceId: string | null;
  readonly status: NodeStatus;
  readonly cordoned: boolean;
  readonly cordonReason: string | null;
  readonly conditions: readonly ConditionView[];
  /** Whether a hintless request could be sent there now. */
  readonly schedulable: boolean;
  /** In words, why it is not schedulable or not fully; empty when there is nothing to say. */
  readonly reasons: readonly string[];
  /** The newest report of the runtime as it came; null before the first. */
  readonly snapshot: SnapshotReport | null;
  /** The newest of the daemon; null before the first. */
  readonly utilization: Readonly<Record<Metric, number | null>> | null;
  readonly capacity: { readonly cpuMillicores: number | null; readonly memoryBytes: number | null };
  /** Allocated + paused × weight + in flight. `pressure` is null when no capacity is known. */
  readonly projected: {
    readonly cpuMillicores: number;
    readonly memoryBytes: number;
    readonly starting: number;
    readonly pressure: number | null;
  };
  /** max(0, capacity × overcommit − projected); null where the capacity is unknown. */
  readonly available: { readonly cpuMillicores: number | null; readonly memoryBytes: number | null };
  /** Whether projected exceeds capacity × overcommit in a known dimension: charged as reported, all the same. */
  readonly overLimit: boolean;
  /** Numbers of live reservations. */
  readonly reservations: { readonly pending: number; readonly confirmed: number };
  /** What live reservations are charged, part of `projected`: the in-flight sums. */
  readonly inFlight: { readonly cpuMillicores: number; readonly memoryBytes: number; readonly count: number };
  readonly accounting: Accounting;
  readonly demoted: boolean;
  /** Scheduler-local number of the newest accepted report; 0 before the first. */
  readonly generation: number;
  /** Null when not heard since the start. */
  readonly lastSeenUnixMs: number | null;
}

/** Numbers of live reservations. */
export interface LiveCounts {
  readonly pending: number;
  readonly confirmed: number;
}

/** Of the nodes that `list_nodes` lists. */
export interface NodeCounts {
  readonly byStatus: Readonly<Record<NodeStatus, number>>;
  /** Nodes under each condition. */
  readonly byCondition: Readonly<Record<Condition, number>>;
  readonly reservations: LiveCounts;
  /** Those that have any, in no particular order; null where there are more nodes than were asked for. */
  readonly reservationsByNode: readonly (LiveCounts & { readonly nodeId: string })[] | null;
}
