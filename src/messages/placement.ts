/**
 * What is said to the placement actor and what it answers. CPU is in whole millicores, memory in whole bytes. Every
 * refusal is a value from the table in `errors.ts`; nothing here throws.
 */
import type { Refusal } from "./errors.ts";
import type {
  ClearCondition,
  Cordon,
  CountNodes,
  GetNode,
  Heartbeat,
  ListNodes,
  NodeAddress,
  NodeCounts,
  NodeView,
  SandboxEvents,
  Uncordon,
  UnregisterNode,
} from "./nodes.ts";

export const RESERVATION_STATES = ["pending", "confirmed", "settled", "cancelled", "expired", "released"] as const;
export type ReservationState = (typeof RESERVATION_STATES)[number];

/**
 * `none` creates nothing and reserves nothing; `new_cold_sandbox` knows its demand unless a dimension is null;
 * `new_sandbox` (from a template) does not, unless the caller resolved it.
 */
export type HintKind = "none" | "new_cold_sandbox" | "new_sandbox";

/** Picks a node and, for a creation, reserves on it in the same step. */
export interface Schedule {
  readonly type: "schedule";
  readonly hint: HintKind;
  /** Null: unknown (0 or absent on the wire). Positive otherwise. Ignored without a hint. */
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number | null;
  /** Names one attempt: its repeat returns the same reservation. Null: every call is a new attempt. */
  readonly requestId: string | null;
  /** Whose request ids these are: an opaque name of the credential that sent the call, never the credential. */
  readonly credential: string;
  readonly excludeNodeIds: readonly string[];
  /** Whether the caller closes the reservation by its token; others end by inference, lease or an operator. */
  readonly managed: boolean;
}

/** `handle` in this and the next messages is a token (`rt_…`) or a public id (`rs_…`). */
export interface Confirm {
  readonly type: "confirm";
  readonly handle: string;
  readonly sandboxId: string;
  /** A late confirm charges past capacity instead of being refused. */
  readonly force: boolean;
}

export interface Cancel {
  readonly type: "cancel";
  readonly handle: string;
  /** `refused` and `failed` count towards the demotion of the node. */
  readonly reason: string | null;
}

export interface Renew {
  readonly type: "renew";
  readonly handle: string;
}

/** The caller cannot know whether its create happened. */
export interface MarkUncertain {
  readonly type: "uncertain";
  readonly handle: string;
}

export interface GetReservation {
  readonly type: "get_reservation";
  readonly handle: string;
}

export interface ListReservations {
  readonly type: "list_reservations";
  readonly nodeId: string | null;
  /** Null: the live ones, pending and confirmed. */
  readonly state: ReservationState | null;
  /** 1 to 10 000. */
  readonly limit: number;
  /** As an earlier answer gave it; null starts at the oldest. */
  readonly cursor: string | null;
}

/** The sandbox is gone: releases the confirmed, unsettled reservation it is bound to. Ok for unknown ids. */
export interface ReleaseSandbox {
  readonly type: "release_sandbox";
  readonly sandboxId: string;
}

/** A gateway says where a sandbox is. Routes only; binds nothing. */
export interface RecordAssignment {
  readonly type: "record_assignment";
  readonly sandboxId: string;
  readonly nodeId: string;
  readonly endpoint: string;
}

/**
 * The answer that carried this reservation did not reach its caller. Without a request id it is cancelled, with one it
 * is marked uncertain; one that is no longer pending stays as it is.
 */
export interface DeliveryFailed {
  readonly type: "delivery_failed";
  readonly reservationId: string;
}

/**
 * Time passes: leases end, silence becomes visible, conditions and memories age. To be sent at least once a second: once
 * ticks have begun, half of `reportTtlMs` without any message counts as a stall of the process.
 */
export interface Tick {
  readonly type: "tick";
}

export type PlacementMessage =
  | Schedule
  | Confirm
  | Cancel
  | Renew
  | MarkUncertain
  | GetReservation
  | ListReservations
  | ReleaseSandbox
  | Heartbeat
  | SandboxEvents
  | RecordAssignment
  | Cordon
  | Uncordon
  | ClearCondition
  | UnregisterNode
  | GetNode
  | ListNodes
  | CountNodes
  | DeliveryFailed
  | Tick;

export interface ReservationView {
  readonly id: string;
  /** Only in the answer of the schedule that made it, in its repeats, and for a call that presents it; else null. */
  readonly token: string | null;
  readonly state: ReservationState;
  readonly managed: boolean;
  readonly uncertain: boolean;
  /** Confirmed after its lease or as an orphan. */
  readonly late: boolean;
  readonly nodeId: string;
  readonly sandboxId: string | null;
  /** What is charged: 0 once the state is not charged, and in a dimension that aggregates have settled. */
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  readonly createdAtUnixMs: number;
  /** Null once the state has no lease. */
  readonly expiresAtUnixMs: number | null;
  /** Why it ended, e.g. `lease`, `orphaned`, `deleted`, `rebooted`, `node_gone`, or the canceller's; null if live. */
  readonly reason: string | null;
}

export type Reply<Answer> =
  | { readonly ok: true; readonly answer: Answer }
  | { readonly ok: false; readonly refusal: Refusal };

export interface ScheduleAnswer {
  readonly node: NodeAddress;
  /** Null for a request that creates nothing. */
  readonly reservation: ReservationView | null;
  /** Whether this repeats an earlier answer of the same request id. */
  readonly repeated: boolean;
}

export interface ReservationAnswer {
  readonly reservation: ReservationView;
  /** Whether an earlier call had already brought it here. */
  readonly repeated: boolean;
}

export interface ReservationsAnswer {
  readonly reservations: readonly ReservationView[];
  /** For the next page; null when this was the last. */
  readonly cursor: string | null;
}

export interface HeartbeatAnswer {
  readonly generation: number;
}

export interface NodeAnswer {
  readonly node: NodeView;
}

export interface NodesAnswer {
  readonly nodes: readonly NodeView[];
}

/** Nothing to say but that it is done. */
export type Done = Readonly<Record<string, never>>;

/** The answer to each message, by its type. */
export interface PlacementAnswers {
  readonly schedule: ScheduleAnswer;
  readonly confirm: ReservationAnswer;
  readonly cancel: ReservationAnswer;
  readonly renew: ReservationAnswer;
  readonly uncertain: ReservationAnswer;
  readonly get_reservation: ReservationAnswer;
  readonly list_reservations: ReservationsAnswer;
  readonly release_sandbox: Done;
  readonly heartbeat: HeartbeatAnswer;
  readonly sandbox_events: Done;
  readonly record_assignment: Done;
  readonly cordon: NodeAnswer;
  readonly uncordon: NodeAnswer;
  readonly clear_condition: NodeAnswer;
  readonly unregister: Done;
  readonly get_node: NodeAnswer;
  readonly list_nodes: NodesAnswer;
  readonly count_nodes: NodeCounts;
  readonly delivery_failed: Done;
  readonly tick: Done;
}

export type ReplyTo<Type extends PlacementMessage["type"]> = Reply<PlacementAnswers[Type]>;
