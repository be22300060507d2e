/** What nodes send, as messages to the placement actor and to the directory's actors. */
import { DISKS_MAX, EVENTS_MAX, ROSTER_MAX } from "../../../messages/http/heartbeat.ts";
import type {
  Heartbeat,
  ReportedStatus,
  SandboxEvent,
  SandboxEvents,
  SandboxEventType,
  SnapshotReport,
} from "../../../messages/nodes.ts";
import {
  type HeartbeatRequest,
  type MachineInfo,
  NodeSnapshot,
  NodeStatus,
  type ReportSandboxEventRequest,
  SandboxEventType as WireEventType,
} from "../../../messages/proto/generated/scheduler/v1/scheduler.ts";
import type { PeerEndpoint } from "../../directory/p2p/client.ts";
import type { NodeReport } from "../../directory/reported/client.ts";
import { exactAmount, identifier, listUpTo, nearestFigure, textUpTo } from "./border.ts";

const NAME_LENGTH_MAX = 256;
const TEXT_LENGTH_MAX = 4096;
/** Several times a dump of every CPUID leaf and MSR; it is kept for each node. */
const CPU_CONFIG_LENGTH_MAX = 2 ** 20;

/**
 * A snapshot that was left out says what an empty one says, as any proto3 reader of that field takes it: the node lives,
 * and reports nothing.
 */
export function snapshotOf({ snapshot }: HeartbeatRequest): NodeSnapshot {
  return snapshot ?? NodeSnapshot.create();
}

/** The roster counts even when it is empty: over gRPC every heartbeat has one. */
export function heartbeatMessage(request: HeartbeatRequest): Heartbeat {
  listUpTo(request.sandboxIds, "sandbox_ids", ROSTER_MAX);
  return {
    type: "heartbeat",
    nodeId: identifier(request.nodeId, "node_id"),
    endpoint: null,
    clusterId: textUpTo(request.clusterId, "cluster_id", NAME_LENGTH_MAX) || null,
    version: textUpTo(request.version, "version", NAME_LENGTH_MAX) || null,
    serviceInstanceId: identifier(request.serviceInstanceId, "service_instance_id"),
    sequence: null,
    snapshot: snapshotReport(snapshotOf(request)),
    sandboxIds: request.sandboxIds.map((sandboxId, index) => identifier(sandboxId, `sandbox_ids[${index}]`)),
    resource: null,
    resourceSequence: null,
    bootId: null,
    inventoryNone: false,
  };
}

function snapshotReport(sent: NodeSnapshot): SnapshotReport {
  return {
    status: reportedStatus(sent.status),
    allocatedCpuMillicores: sent.allocatedCpu * 1000,
    allocatedMemoryBytes: exactAmount(sent.allocatedMemoryBytes, "snapshot.allocated_memory_bytes"),
    cpuPercent: sent.cpuPercent,
    cpuCapacityMillicores: sent.cpuCount * 1000,
    memoryUsedBytes: nearestFigure(sent.memoryUsedBytes),
    memoryCapacityBytes: exactAmount(sent.memoryTotalBytes, "snapshot.memory_total_bytes"),
    sandboxCount: sent.sandboxCount,
    sandboxStartingCount: sent.sandboxStartingCount,
    createSuccesses: exactAmount(sent.createSuccesses, "snapshot.create_successes"),
    createFails: nearestFigure(sent.createFails),
    reportedAtUnixMs: sent.reportedAtUnixMs === 0n ? null : nearestFigure(sent.reportedAtUnixMs),
    pausedSandboxCount: sent.pausedSandboxCount,
    pausedAllocatedCpuMillicores: sent.pausedAllocatedCpu * 1000,
    pausedAllocatedMemoryBytes: exactAmount(sent.pausedAllocatedMemoryBytes, "snapshot.paused_allocated_memory_bytes"),
    disks: listUpTo(sent.disks, "snapshot.disks", DISKS_MAX).map((disk, index) => ({
      mountPoint: textUpTo(disk.mountPoint, `snapshot.disks[${index}].mount_point`, TEXT_LENGTH_MAX),
      device: textUpTo(disk.device, `snapshot.disks[${index}].device`, TEXT_LENGTH_MAX),
      filesystemType: textUpTo(disk.filesystemType, `snapshot.disks[${index}].filesystem_type`, NAME_LENGTH_MAX),
      usedBytes: nearestFigure(disk.usedBytes),
      totalBytes: nearestFigure(disk.totalBytes),
    })),
  };
}

/**
 * A node that calls itself unhealthy takes no requests but goes on to be heard, which is what LINGERING means here. A
 * status that we do not know is one that a newer node has: like none at all.
 */
function reportedStatus(status: NodeStatus): ReportedStatus {
  switch (status) {
    case NodeStatus.NODE_STATUS_READY:
      return "READY";
    case NodeStatus.NODE_STATUS_UNHEALTHY:
    case NodeStatus.NODE_STATUS_LINGERING:
      return "LINGERING";
    default:
      return "CONNECTING";
  }
}

/** As it came; `arrivedAtUnixMs` stands in for the node's clock where the node sent none. */
export function nodeReport(request: HeartbeatRequest, arrivedAtUnixMs: number): NodeReport {
  const snapshot = snapshotOf(request);
  const { reportedAtUnixMs } = snapshot;
  return {
    nodeId: request.nodeId,
    serviceInstanceId: request.serviceInstanceId,
    commit: textUpTo(request.commit, "commit", NAME_LENGTH_MAX),
    machineInfo: request.machineInfo === undefined ? null : machineInfo(request.machineInfo),
    snapshot: {
      ...snapshot,
      reportedAtUnixMs: reportedAtUnixMs === 0n ? BigInt(Math.floor(arrivedAtUnixMs)) : reportedAtUnixMs,
    },
  };
}

function machineInfo(sent: MachineInfo): MachineInfo {
  textUpTo(sent.cpuFamily, "machine_info.cpu_family", TEXT_LENGTH_MAX);
  textUpTo(sent.cpuModel, "machine_info.cpu_model", TEXT_LENGTH_MAX);
  textUpTo(sent.cpuModelName, "machine_info.cpu_model_name", TEXT_LENGTH_MAX);
  textUpTo(sent.cpuArchitecture, "machine_info.cpu_architecture", TEXT_LENGTH_MAX);
  textUpTo(sent.cpuConfigJson, "machine_info.cpu_config_json", CPU_CONFIG_LENGTH_MAX);
  return sent;
}

/** Null: it offers none. */
export function peerEndpoint({ p2pEndpoint }: HeartbeatRequest): PeerEndpoint | null {
  if (p2pEndpoint === undefined || p2pEndpoint.address === "") return null;
  return {
    backend: textUpTo(p2pEndpoint.backend, "p2p_endpoint.backend", NAME_LENGTH_MAX),
    address: textUpTo(p2pEndpoint.address, "p2p_endpoint.address", TEXT_LENGTH_MAX),
  };
}

const EVENT_TYPES: ReadonlyMap<number, SandboxEventType> = new Map([
  [WireEventType.SANDBOX_EVENT_TYPE_CREATE, "CREATE"],
  [WireEventType.SANDBOX_EVENT_TYPE_DELETE, "DELETE"],
  [WireEventType.SANDBOX_EVENT_TYPE_PAUSE, "PAUSE"],
  [WireEventType.SANDBOX_EVENT_TYPE_RESUME, "RESUME"],
  [WireEventType.SANDBOX_EVENT_TYPE_FORK, "FORK"],
]);

/** Events of a type that we do not know are left out: the others of the message are sent only this once. */
export function eventsMessage(request: ReportSandboxEventRequest): SandboxEvents {
  const events = listUpTo(request.events, "events", EVENTS_MAX).flatMap((event, index): SandboxEvent[] => {
    const eventType = EVENT_TYPES.get(event.eventType);
    if (eventType === undefined) return [];
    return [
      {
        sandboxId: identifier(event.sandboxId, `events[${index}].sandbox_id`),
        eventType,
        requestedCpuMillicores: event.requestedCpu * 1000,
        requestedMemoryBytes: exactAmount(event.requestedMemoryBytes, `events[${index}].requested_memory_bytes`),
      },
    ];
  });
  return {
    type: "sandbox_events",
    nodeId: identifier(request.nodeId, "node_id"),
    serviceInstanceId: identifier(request.serviceInstanceId, "service_instance_id"),
    events,
  };
}
