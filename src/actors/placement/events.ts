/**
 * The journal seam. A handler decides, and describes what it decided as changes; durable state moves only by applying
 * them. Replaying the events of a log in order rebuilds that state and judges nothing.
 *
 * Soft state (reports, rosters, epochs, turns, demotions) is in no event: after a restart nodes are awaited.
 */
import type { Condition } from "../../messages/nodes.ts";
import type { HintKind } from "../../messages/placement.ts";

export type Dimension = "count" | "cpu" | "memory";

/** What a reservation is made of, for good. */
export interface ReservationTerms {
  readonly id: string;
  /** Null when unmanaged. */
  readonly token: string | null;
  readonly nodeId: string;
  readonly managed: boolean;
  readonly hint: HintKind;
  /** As asked; null: unknown. */
  readonly demandCpuMillicores: number | null;
  readonly demandMemoryBytes: number | null;
  /** What is charged: the demand, or what was assumed for it. */
  readonly chargeCpuMillicores: number;
  readonly chargeMemoryBytes: number;
  /** Credential and request id, joined; null without a request id. */
  readonly requestKey: string | null;
}

export type ReservationChange =
  | { readonly type: "reserved"; readonly terms: ReservationTerms; readonly leaseMs: number }
  | { readonly type: "renewed"; readonly id: string; readonly leaseMs: number }
  | { readonly type: "marked_uncertain"; readonly id: string; readonly leaseMs: number }
  | {
      readonly type: "confirmed";
      readonly id: string;
      readonly sandboxId: string;
      readonly late: boolean;
      /** Bound by inference, which a confirm by token overrules. */
      readonly provisional: boolean;
      /** What the inference learned of an unknown demand; null where there was nothing to learn. */
      readonly filledCpuMillicores: number | null;
      readonly filledMemoryBytes: number | null;
    }
  /** A confirm by token agrees with an inferred binding, which is provisional no more. */
  | { readonly type: "affirmed"; readonly id: string }
  /** An inferred binding is taken back: pending again, with its charge and its lease. */
  | { readonly type: "unbound"; readonly id: string }
  | { readonly type: "cancelled"; readonly id: string; readonly reason: string }
  | { readonly type: "expired"; readonly id: string; readonly reason: "lease" | "orphaned" }
  | { readonly type: "settled"; readonly id: string }
  | { readonly type: "released"; readonly id: string; readonly reason: "deleted" | "rebooted" | "node_gone" }
  | { readonly type: "acknowledged"; readonly id: string; readonly dimension: Dimension }
  | { readonly type: "dimension_settled"; readonly id: string; readonly dimension: "cpu" | "memory" }
  | { readonly type: "recharged"; readonly id: string; readonly dimension: "cpu" | "memory" }
  /** A DELETE or a FORK named it, and it binds nothing from now on; `unbound` is in snapshots only. */
  | {
      readonly type: "sandbox_named";
      readonly sandboxId: string;
      readonly how: "deleted" | "forked" | "unbound";
      /** Whose event named it; null: a caller's word, good for every node. */
      readonly nodeId: string | null;
    }
  /** Retention is over for ended reservations and named sandboxes. */
  | { readonly type: "forgotten"; readonly ids: readonly string[]; readonly sandboxIds: readonly string[] }
  | { readonly type: "reservation_restored"; readonly record: ReservationRecord };

export type NodeChange =
  /** First heard, first reserved on, or heard again after it had unregistered. */
  | { readonly type: "node_registered"; readonly nodeId: string; readonly endpoint: string | null }
  | { readonly type: "node_endpoint_set"; readonly nodeId: string; readonly endpoint: string }
  | { readonly type: "node_ledger_set"; readonly nodeId: string; readonly ledger: boolean }
  /** The first snapshot: the node can never be a ledger node again. */
  | { readonly type: "node_runtime_seen"; readonly nodeId: string }
  /** The newest report of this boot has arrived at this position, after reservations were made. */
  | { readonly type: "boot_witnessed"; readonly nodeId: string; readonly bootId: string }
  | { readonly type: "node_unregistered"; readonly nodeId: string; readonly serviceInstanceId: string }
  | { readonly type: "node_dropped"; readonly nodeId: string }
  | { readonly type: "cordoned"; readonly nodeId: string; readonly reason: string | null }
  | { readonly type: "uncordoned"; readonly nodeId: string }
  | {
      readonly type: "condition_entered";
      readonly nodeId: string;
      readonly condition: Condition;
      /** The sample that completed the streak. */
      readonly value: number;
    }
  | {
      readonly type: "condition_left";
      readonly nodeId: string;
      readonly condition: Condition;
      readonly cause: "recovered" | "unobserved" | "cleared";
      /** The sample that completed the streak; null where none did. */
      readonly value: number | null;
    }
  | { readonly type: "node_restored"; readonly record: NodeRecord };

export type Change = ReservationChange | NodeChange;

const NODE_CHANGES: ReadonlySet<string> = new Set<NodeChange["type"]>([
  "node_registered",
  "node_endpoint_set",
  "node_ledger_set",
  "node_runtime_seen",
  "boot_witnessed",
  "node_unregistered",
  "node_dropped",
  "cordoned",
  "uncordoned",
  "condition_entered",
  "condition_left",
  "node_restored",
]);

export function isNodeChange(change: Change): change is NodeChange {
  return NODE_CHANGES.has(change.type);
}

/** A change with its place in the order of messages and its wall time. Plain data, fit for JSON. */
export interface PlacementEvent {
  /** Position in the mailbox of the message that caused it. Several events may share one. */
  readonly position: number;
  readonly wallMs: number;
  readonly change: Change;
}

/** All that is durable of a reservation. Times are wall times, which outlive the process. */
export interface ReservationRecord {
  readonly terms: ReservationTerms;
  readonly status: "pending" | "confirmed" | "settled" | "cancelled" | "expired" | "released";
  readonly position: number;
  readonly createdAtWallMs: number;
  readonly leaseEndWallMs: number;
  readonly confirmedAtWallMs: number | null;
  readonly endedAtWallMs: number | null;
  readonly uncertain: boolean;
  readonly late: boolean;
  readonly provisional: boolean;
  readonly sandboxId: string | null;
  readonly reason: string | null;
  readonly filledCpuMillicores: number | null;
  readonly filledMemoryBytes: number | null;
  readonly count: "charged" | "settled";
  readonly cpu: DimensionProgress;
  readonly memory: DimensionProgress;
}

/** How far aggregates have taken one amount: charged, charged but acknowledged, or out of the sums. */
export type DimensionProgress = "charged" | "acknowledged" | "settled";

/** All that is durable of a node. */
export interface NodeRecord {
  readonly nodeId: string;
  readonly endpoint: string | null;
  readonly ledger: boolean;
  readonly runtimeSeen: boolean;
  readonly bootId: string | null;
  /** Boots before it, oldest first: a stray report of one is no reboot. */
  readonly formerBootIds: readonly string[];
  readonly witnessPosition: number;
  readonly unregistered: { readonly serviceInstanceId: string; readonly atWallMs: number } | null;
  readonly cordon: { readonly reason: string | null } | null;
  readonly conditions: readonly { readonly condition: Condition; readonly sinceWallMs: number }[];
}
