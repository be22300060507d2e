/**
 * One node as the scheduler knows it: who it is, what its two parts last said, and what was done to it by hand. Durable
 * fields move only by `Fleet.apply`; the others are soft and lost with the process.
 */
import type { Condition, SnapshotReport } from "../../../messages/nodes.ts";
import type { Metric } from "../../../messages/sampling.ts";
import type { StaticNode } from "../config.ts";
import type { Instant } from "../instant.ts";
import type { Account } from "../ledger/account.ts";
import { newStreaks, type Streaks } from "./conditions.ts";
import { type Figures, newFigures } from "./figures.ts";
import { newPart, type Part } from "./parts.ts";
import { newRuntimeEpoch, type RuntimeEpoch } from "./runtime-epoch.ts";

export interface Node {
  readonly nodeId: string;
  /** From the configuration; null when heartbeats brought it. */
  readonly configured: StaticNode | null;
  readonly account: Account;

  // Durable.
  endpoint: string | null;
  /** Whether any event names it: a configured one does not before it is heard or reserved on. */
  journaled: boolean;
  /** Whether it says that no runtime reports for it. Ends for good with the first snapshot. */
  ledger: boolean;
  runtimeSeen: boolean;
  bootId: string | null;
  /** Boots before it, oldest first, as many as strays may come from. */
  formerBootIds: readonly string[];
  /** Reservations made before this position were made before the newest witnessed report of `bootId`. */
  witnessPosition: number;
  unregistered: { readonly serviceInstanceId: string; readonly atMs: number } | null;
  cordon: { readonly reason: string | null } | null;
  readonly conditions: Map<Condition, { readonly sinceMs: number }>;

  // Soft.
  /** Known from before a restart and not heard since: out until it reports. */
  awaited: boolean;
  clusterId: string | null;
  version: string | null;
  readonly runtime: Part;
  readonly daemon: Part;
  readonly epoch: RuntimeEpoch;
  /** An instance whose CREATE event came before its first snapshot; null: none. */
  heraldedInstanceId: string | null;
  readonly figures: Figures;
  snapshot: SnapshotReport | null;
  utilization: Readonly<Record<Metric, number | null>> | null;
  readonly streaks: Streaks;
  generation: number;
  /** When silence began to count for a part that was never heard. */
  knownSinceMs: number;
  /** Turn in which it was last chosen by any request; 0: never. */
  lastChosenTurn: number;
  /** Times of the newest failed outcomes since the last confirm, oldest first. */
  readonly failedAtMs: number[];
  demotedUntilMs: number;
}

/** Its own named fields keep four values of three types apart. */
export interface NodeInit {
  readonly nodeId: string;
  readonly configured: StaticNode | null;
  readonly account: Account;
  readonly now: Instant;
}

export function newNode(init: NodeInit): Node {
  return {
    nodeId: init.nodeId,
    configured: init.configured,
    account: init.account,
    endpoint: init.configured?.endpoint ?? null,
    journaled: false,
    ledger: init.configured?.ledger ?? false,
    runtimeSeen: false,
    bootId: null,
    formerBootIds: [],
    witnessPosition: 0,
    unregistered: null,
    cordon: null,
    conditions: new Map(),
    awaited: false,
    clusterId: null,
    version: null,
    runtime: newPart(),
    daemon: newPart(),
    epoch: newRuntimeEpoch(),
    heraldedInstanceId: null,
    figures: newFigures(),
    snapshot: null,
    utilization: null,
    streaks: newStreaks(),
    generation: 0,
    knownSinceMs: init.now.nowMs,
    lastChosenTurn: 0,
    failedAtMs: [],
    demotedUntilMs: Number.NEGATIVE_INFINITY,
  };
}

/** The part that keeps the node a candidate: the runtime, or the daemon where no runtime reports. */
export function leadingPart(node: Node): Part {
  return node.ledger ? node.daemon : node.runtime;
}
