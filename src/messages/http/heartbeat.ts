/** What nodes send: heartbeats with one part or both, and events. */
import { z } from "zod";
import {
  type Heartbeat,
  type ResourceReport,
  SANDBOX_EVENT_TYPES,
  type SandboxEvents,
  type SnapshotReport,
} from "../nodes.ts";
import { METRICS } from "../sampling.ts";
import {
  identifier,
  identifiersUpTo,
  integerBetween,
  numberBetween,
  textUpTo,
  uint32,
  uint64,
  wordFrom,
} from "./scalars.ts";

/** Sandboxes that one roster may list: far above a node, and about as many as the body limit holds. */
export const ROSTER_MAX = 100_000;
export const EVENTS_MAX = 10_000;
/** Mount points of one node. */
export const DISKS_MAX = 1_000;

const count = uint32.default(0);
const amount = uint64.default(0);

export const snapshotSchema = z
  .object({
    status: wordFrom(["READY", "CONNECTING", "LINGERING"]).default("READY"),
    allocated_cpu: count.meta({ description: "Cores promised to running and starting sandboxes, paused ones not." }),
    allocated_memory_bytes: amount,
    cpu_percent: count,
    cpu_count: count.meta({ description: "Cores of the node; 0: not in this report." }),
    memory_used_bytes: amount,
    memory_total_bytes: amount.meta({ description: "0: not in this report." }),
    disks: z
      .array(
        z.object({
          mount_point: textUpTo(4096).default(""),
          device: textUpTo(4096).default(""),
          filesystem_type: textUpTo(256).default(""),
          used_bytes: amount,
          total_bytes: amount,
        }),
      )
      .max(DISKS_MAX, { error: `must list at most ${DISKS_MAX} disks` })
      .default([]),
    sandbox_count: count.meta({ description: "Without those being created or resumed, and without paused ones." }),
    sandbox_starting_count: count,
    create_successes: amount,
    create_fails: amount,
    reported_at_unix_ms: integerBetween(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER).optional(),
    paused_sandbox_count: count,
    paused_allocated_cpu: count,
    paused_allocated_memory_bytes: amount,
  })
  .meta({ id: "NodeSnapshot", description: "From the sandbox runtime. Absent counters and amounts are 0." });

const ratio = numberBetween(0, 1).nullable().default(null);

const resourceSchema = z
  .object({
    cpu: uint32.default(0).meta({ description: "Cores; 0: not known." }),
    mem: amount.meta({ description: "Bytes; 0: not known." }),
    utilization: z
      .object(
        Object.fromEntries(METRICS.map((metric) => [metric, ratio])) as Record<(typeof METRICS)[number], typeof ratio>,
      )
      .prefault({})
      .meta({ description: "Ratios within [0, 1]; null: no usable observation, which is never 0." }),
  })
  .meta({ id: "Resource", description: "From the node daemon: a whole answer of its `GET /resource`." });

export const nodeParams = z.object({ node_id: identifier });

const heartbeatFields = z.object({
  endpoint: identifier.optional().meta({ description: "Where creates are sent; to be given once." }),
  cluster_id: textUpTo(256).optional(),
  service_instance_id: identifier,
  version: textUpTo(256).optional(),
  snapshot: snapshotSchema.optional(),
  sandbox_ids: identifiersUpTo(ROSTER_MAX, "sandboxes")
    .optional()
    .meta({ description: "Comes with a snapshot. Absent: no roster in this report; empty: nothing runs." }),
  resource: resourceSchema.optional(),
  sequence: uint64.optional(),
  resource_sequence: uint64.optional(),
  boot_id: identifier.optional().meta({ description: "The kernel's, `/proc/sys/kernel/random/boot_id`." }),
  inventory: wordFrom(["none"]).optional().meta({ description: "No sandbox runtime reports for this node." }),
});

/** A roster is judged by the sums that were read beside it; alone it would be taken for nothing. */
export const heartbeatBody = heartbeatFields
  .refine(({ snapshot, sandbox_ids: roster }) => roster === undefined || snapshot !== undefined, {
    path: ["sandbox_ids"],
    error: "must come with a snapshot",
  })
  .meta({ anyOf: [{ required: ["snapshot"] }, { not: { required: ["sandbox_ids"] } }] });

export const heartbeatAnswerSchema = z.object({ generation: z.int().min(0) });

export function heartbeatMessage(nodeId: string, body: z.output<typeof heartbeatBody>): Heartbeat {
  return {
    type: "heartbeat",
    nodeId,
    endpoint: body.endpoint ?? null,
    // Empty is absent, as in proto3.
    clusterId: body.cluster_id || null,
    version: body.version || null,
    serviceInstanceId: body.service_instance_id,
    sequence: body.sequence ?? null,
    snapshot: body.snapshot === undefined ? null : snapshotReport(body.snapshot),
    sandboxIds: body.sandbox_ids ?? null,
    resource: body.resource === undefined ? null : resourceReport(body.resource),
    resourceSequence: body.resource_sequence ?? null,
    bootId: body.boot_id ?? null,
    inventoryNone: body.inventory === "none",
  };
}

function snapshotReport(sent: z.output<typeof snapshotSchema>): SnapshotReport {
  return {
    status: sent.status,
    allocatedCpuMillicores: sent.allocated_cpu * 1000,
    allocatedMemoryBytes: sent.allocated_memory_bytes,
    cpuPercent: sent.cpu_percent,
    cpuCapacityMillicores: sent.cpu_count * 1000,
    memoryUsedBytes: sent.memory_used_bytes,
    memoryCapacityBytes: sent.memory_total_bytes,
    sandboxCount: sent.sandbox_count,
    sandboxStartingCount: sent.sandbox_starting_count,
    createSuccesses: sent.create_successes,
    createFails: sent.create_fails,
    reportedAtUnixMs: sent.reported_at_unix_ms ?? null,
    pausedSandboxCount: sent.paused_sandbox_count,
    pausedAllocatedCpuMillicores: sent.paused_allocated_cpu * 1000,
    pausedAllocatedMemoryBytes: sent.paused_allocated_memory_bytes,
    disks: sent.disks.map((disk) => ({
      mountPoint: disk.mount_point,
      device: disk.device,
      filesystemType: disk.filesystem_type,
      usedBytes: disk.used_bytes,
      totalBytes: disk.total_bytes,
    })),
  };
}

/** The snapshot as it came, for the node's view. */
export function wireSnapshotOf(report: SnapshotReport): z.output<typeof snapshotSchema> {
  return {
    status: report.status,
    allocated_cpu: report.allocatedCpuMillicores / 1000,
    allocated_memory_bytes: report.allocatedMemoryBytes,
    cpu_percent: report.cpuPercent,
    cpu_count: report.cpuCapacityMillicores / 1000,
    memory_used_bytes: report.memoryUsedBytes,
    memory_total_bytes: report.memoryCapacityBytes,
    disks: report.disks.map((disk) => ({
      mount_point: disk.mountPoint,
      device: disk.device,
      filesystem_type: disk.filesystemType,
      used_bytes: disk.usedBytes,
      total_bytes: disk.totalBytes,
    })),
    sandbox_count: report.sandboxCount,
    sandbox_starting_count: report.sandboxStartingCount,
    create_successes: report.createSuccesses,
    create_fails: report.createFails,
    ...(report.reportedAtUnixMs === null ? {} : { reported_at_unix_ms: report.reportedAtUnixMs }),
    paused_sandbox_count: report.pausedSandboxCount,
    paused_allocated_cpu: report.pausedAllocatedCpuMillicores / 1000,
    paused_allocated_memory_bytes: report.pausedAllocatedMemoryBytes,
  };
}

function resourceReport(sent: z.output<typeof resourceSchema>): ResourceReport {
  return { cpuCapacityMillicores: sent.cpu * 1000, memoryCapacityBytes: sent.mem, utilization: sent.utilization };
}

export const eventsBody = z.object({
  service_instance_id: identifier,
  events: z
    .array(
      z.object({
        sandbox_id: identifier,
        event_type: wordFrom(SANDBOX_EVENT_TYPES),
        requested_cpu: count.meta({ description: "Cores; 0: not said." }),
        requested_memory_bytes: amount,
      }),
    )
    .max(EVENTS_MAX, { error: `must list at most ${EVENTS_MAX} events` }),
});

export function eventsMessage(nodeId: string, body: z.output<typeof eventsBody>): SandboxEvents {
  return {
    type: "sandbox_events",
    nodeId,
    serviceInstanceId: body.service_instance_id,
    events: body.events.map((event) => ({
      sandboxId: event.sandbox_id,
      eventType: event.event_type,
      requestedCpuMillicores: event.requested_cpu * 1000,
      requestedMemoryBytes: event.requested_memory_bytes,
    })),
  };
}
