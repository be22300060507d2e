/** Nodes as gRPC shows them: the status and identity that placement says, the figures as the node sent them. */
import type { NodeAddress, NodeStatus, NodeView, SnapshotReport } from "../../../messages/nodes.ts";
import {
  type Node,
  NodeSnapshot,
  type ObservedNode,
  NodeStatus as WireStatus,
} from "../../../messages/proto/generated/scheduler/v1/scheduler.ts";
import type { NodeReport } from "../../directory/reported/client.ts";

/** A node without an endpoint has an empty one. */
export function nodeOf({ nodeId, endpoint }: NodeAddress): Node {
  return { nodeId, endpoint: endpoint ?? "" };
}

/** `report` is the node's newest over gRPC, if there is one; another instance's says nothing of this one. */
export function observedNodeOf(view: NodeView, report: NodeReport | null): ObservedNode {
  const own = report?.serviceInstanceId === view.serviceInstanceId ? report : null;
  return {
    nodeId: view.nodeId,
    endpoint: view.endpoint ?? "",
    clusterId: view.clusterId ?? "",
    serviceInstanceId: view.serviceInstanceId ?? "",
    version: view.version ?? "",
    commit: own?.commit ?? "",
    machineInfo: own?.machineInfo ?? undefined,
    snapshot: snapshotOf(view, own),
    lastSeenUnixMs: BigInt(view.lastSeenUnixMs ?? 0),
  };
}

function snapshotOf(view: NodeView, own: NodeReport | null): NodeSnapshot {
  if (own !== null) return { ...own.snapshot, status: statusOf(view.status, own.snapshot.status) };
  const status = statusOf(view.status, null);
  if (view.snapshot === null) return NodeSnapshot.create({ status });
  return { ...wireSnapshot(view.snapshot, view.lastSeenUnixMs ?? 0), status };
}

/** As placement derives it; a node that calls itself unhealthy counts there as lingering, and shows as it says. */
function statusOf(derived: NodeStatus, reported: WireStatus | null): WireStatus {
  switch (derived) {
    case "READY":
      return WireStatus.NODE_STATUS_READY;
    case "CONNECTING":
      return WireStatus.NODE_STATUS_CONNECTING;
    case "UNHEALTHY":
      return WireStatus.NODE_STATUS_UNHEALTHY;
    case "LINGERING":
      return reported === WireStatus.NODE_STATUS_UNHEALTHY ? reported : WireStatus.NODE_STATUS_LINGERING;
    default:
      return derived satisfies never;
  }
}

/** Of a runtime that reports over HTTP. */
function wireSnapshot(report: SnapshotReport, arrivedAtUnixMs: number): Omit<NodeSnapshot, "status"> {
  return {
    allocatedCpu: report.allocatedCpuMillicores / 1000,
    allocatedMemoryBytes: BigInt(report.allocatedMemoryBytes),
    cpuPercent: report.cpuPercent,
    cpuCount: report.cpuCapacityMillicores / 1000,
    memoryUsedBytes: BigInt(report.memoryUsedBytes),
    memoryTotalBytes: BigInt(report.memoryCapacityBytes),
    disks: report.disks.map((disk) => ({
      ...disk,
      usedBytes: BigInt(disk.usedBytes),
      totalBytes: BigInt(disk.totalBytes),
    })),
    sandboxCount: report.sandboxCount,
    sandboxStartingCount: report.sandboxStartingCount,
    createSuccesses: BigInt(report.createSuccesses),
    createFails: BigInt(report.createFails),
    reportedAtUnixMs: BigInt(report.reportedAtUnixMs ?? arrivedAtUnixMs),
    pausedSandboxCount: report.pausedSandboxCount,
    pausedAllocatedCpu: report.pausedAllocatedCpuMillicores / 1000,
    pausedAllocatedMemoryBytes: BigInt(report.pausedAllocatedMemoryBytes),
  };
}
