/** Every key that a placement decision depends on, in internal units, with the defaults. */
import type { Metric } from "../../messages/sampling.ts";

/** A value for each of the two dimensions that are promised. */
export interface PerDimension<Value> {
  readonly cpu: Value;
  readonly memory: Value;
}

/**
 * What an unknown demand is charged: `observed` (the mean of the newest report), `none`, or a fixed amount in millicores
 * or bytes.
 */
export type AssumedAmount = "observed" | "none" | number;

/** Maxima that hold after a creation; null: unset, limits nothing. 0 accepts nothing. */
export interface NodeResourceLimit {
  readonly maxSandboxCount: number | null;
  readonly maxSandboxStartingCount: number | null;
  /** Percentages, 0 to 100 and beyond: measured use, and promises, of the capacity itself (never × overcommit). */
  readonly maxCpuUsedPercent: number | null;
  readonly maxCpuAllocatedPercent: number | null;
  readonly maxMemoryUsedPercent: number | null;
  readonly maxMemoryAllocatedPercent: number | null;
  readonly maxSandboxCountIncludingPaused: number | null;
  readonly maxAllocatedCpuMillicoresIncludingPaused: number | null;
  readonly maxAllocatedMemoryBytesIncludingPaused: number | null;
}

export interface PressureRule {
  /** Ratio within (0, 1] at or above which a sample counts towards the condition. */
  readonly enterAt: number;
  readonly enterSamples: number;
  /** Ratio below which a sample counts towards recovery; at most `enterAt`. */
  readonly recoverBelow: number;
  readonly recoverSamples: number;
  /** Whether the node is out, or ranked behind, while under the condition. */
  readonly action: "exclude" | "demote";
}

export interface StaticNode {
  readonly nodeId: string;
  /** Null only for a ledger node. */
  readonly endpoint: string | null;
  /** Whether no runtime reports for it; the first snapshot ends that for good. */
  readonly ledger: boolean;
}

export interface PlacementConfig {
  /** Name of a ranking; trimmed, case-insensitive. */
  readonly strategy: string;
  /** A part silent for longer is not fresh. */
  readonly reportTtlMs: number;
  /** First lease of a reservation and each renewal of it. */
  readonly placementReservationTtlMs: number;
  /** No renewal reaches beyond this age. */
  readonly maxReservationAgeMs: number;
  /** Longest lease left to an uncertain one; least lease left to any after a restart. */
  readonly uncertainTtlMs: number;
  /** Nodes that heartbeats may make known; those of the configuration are always. Bounds what a decision scans. */
  readonly nodesMax: number;
  /** How long, and how many, ended reservations and named sandbox ids are remembered. */
  readonly reservationRetentionMs: number;
  readonly rememberedMax: number;
  /** Live reservations on one node: what bounds the work of one report. */
  readonly livePerNodeMax: number;
  /** A roster this long after a confirm may end it as orphaned. */
  readonly confirmedUnseenTtlMs: number;
  readonly nodeForgetTtlMs: number;
  /** How long creations wait for configured and awaited nodes after a start. */
  readonly startGuardMs: number;
  /** A condition whose daemon is silent for this long, beside a fresh runtime, ends as unobserved. */
  readonly conditionTtlMs: number;
  /** Heartbeats of an unregistered instance are ignored for this long. */
  readonly unregisteredQuietMs: number;
  /** Whether nodes never heard from rank last or are out. */
  readonly unknownNodes: "last" | "never";
  readonly assumedResources: PerDimension<AssumedAmount>;
  /** Promises over capacity; positive. */
  readonly overcommit: PerDimension<number>;
  /** What part of a paused sandbox's amounts counts; 0 or more. */
  readonly pausedWeight: PerDimension<number>;
  readonly nodeResourceLimit: NodeResourceLimit;
  readonly pressure: Readonly<Record<Metric, PressureRule>>;
  /** Null: nodes are found by their heartbeats. Else heartbeats of others are refused. */
  readonly nodes: readonly StaticNode[] | null;
  readonly demotion: {
    readonly failures: number;
    readonly withinMs: number;
    readonly forMs: number;
  };
}

const pressureRule: PressureRule = {
  enterAt: 0.9,
  enterSamples: 6,
  recoverBelow: 0.8,
  recoverSamples: 2,
  action: "exclude",
};

export const defaultPlacementConfig: PlacementConfig = {
  strategy: "least_loaded",
  reportTtlMs: 30_000,
  placementReservationTtlMs: 120_000,
  maxReservationAgeMs: 3_600_000,
  uncertainTtlMs: 60_000,
  nodesMax: 100_000,
  reservationRetentionMs: 3_600_000,
  rememberedMax: 100_000,
  livePerNodeMax: 10_000,
  confirmedUnseenTtlMs: 15_000,
  nodeForgetTtlMs: 86_400_000,
  startGuardMs: 10_000,
  conditionTtlMs: 600_000,
  unregisteredQuietMs: 15_000,
  unknownNodes: "last",
  assumedResources: { cpu: "observed", memory: "observed" },
  overcommit: { cpu: 1, memory: 1 },
  pausedWeight: { cpu: 1, memory: 1 },
  nodeResourceLimit: {
    maxSandboxCount: null,
    maxSandboxStartingCount: null,
    maxCpuUsedPercent: null,
    maxCpuAllocatedPercent: null,
    maxMemoryUsedPercent: null,
    maxMemoryAllocatedPercent: null,
    maxSandboxCountIncludingPaused: null,
    maxAllocatedCpuMillicoresIncludingPaused: null,
    maxAllocatedMemoryBytesIncludingPaused: null,
  },
  pressure: { cpu: pressureRule, memory: pressureRule, pid: pressureRule, fd: pressureRule, disk: pressureRule },
  nodes: null,
  demotion: { failures: 5, withinMs: 300_000, forMs: 60_000 },
};
