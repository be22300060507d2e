/**
 * The figures of a node that decisions read, folded from its reports. Capacity 0 or absent means "not in this report":
 * the last positive one stays in force, and with it the use that was measured beside it.
 */
import type { ResourceReport, SnapshotReport } from "../../../messages/nodes.ts";

export interface Figures {
  /** In force: the snapshot's where it has ever given one, else the daemon's; null: never known. */
  cpuCapacityMillicores: number | null;
  memoryCapacityBytes: number | null;
  cpuCapacityFromSnapshot: boolean;
  memoryCapacityFromSnapshot: boolean;
  allocatedCpuMillicores: number;
  allocatedMemoryBytes: number;
  pausedCpuMillicores: number;
  pausedMemoryBytes: number;
  /** As reported: neither starting nor paused ones. */
  running: number;
  starting: number;
  paused: number;
  /** Whether anyone has ever reported counts and amounts. */
  counted: boolean;
  /** Measured percentages as real numbers; null: nobody reported one. */
  snapshotCpuPercent: number | null;
  snapshotMemoryPercent: number | null;
  daemonCpuPercent: number | null;
  daemonMemoryPercent: number | null;
}

export function newFigures(): Figures {
  return {
    cpuCapacityMillicores: null,
    memoryCapacityBytes: null,
    cpuCapacityFromSnapshot: false,
    memoryCapacityFromSnapshot: false,
    allocatedCpuMillicores: 0,
    allocatedMemoryBytes: 0,
    pausedCpuMillicores: 0,
    pausedMemoryBytes: 0,
    running: 0,
    starting: 0,
    paused: 0,
    counted: false,
    snapshotCpuPercent: null,
    snapshotMemoryPercent: null,
    daemonCpuPercent: null,
    daemonMemoryPercent: null,
  };
}

export function foldSnapshot(figures: Figures, snapshot: SnapshotReport): void {
  figures.allocatedCpuMillicores = snapshot.allocatedCpuMillicores;
  figures.allocatedMemoryBytes = snapshot.allocatedMemoryBytes;
  figures.pausedCpuMillicores = snapshot.pausedAllocatedCpuMillicores;
  figures.pausedMemoryBytes = snapshot.pausedAllocatedMemoryBytes;
  figures.running = snapshot.sandboxCount;
  figures.starting = snapshot.sandboxStartingCount;
  figures.paused = snapshot.pausedSandboxCount;
  figures.counted = true;
  if (snapshot.cpuCapacityMillicores > 0) {
    figures.cpuCapacityMillicores = snapshot.cpuCapacityMillicores;
    figures.cpuCapacityFromSnapshot = true;
    figures.snapshotCpuPercent = snapshot.cpuPercent;
  }
  if (snapshot.memoryCapacityBytes > 0) {
    figures.memoryCapacityBytes = snapshot.memoryCapacityBytes;
    figures.memoryCapacityFromSnapshot = true;
    figures.snapshotMemoryPercent = (snapshot.memoryUsedBytes * 100) / snapshot.memoryCapacityBytes;
  }
}

export function foldResource(figures: Figures, resource: ResourceReport): void {
  if (resource.cpuCapacityMillicores > 0 && !figures.cpuCapacityFromSnapshot) {
    figures.cpuCapacityMillicores = resource.cpuCapacityMillicores;
  }
  if (resource.memoryCapacityBytes > 0 && !figures.memoryCapacityFromSnapshot) {
    figures.memoryCapacityBytes = resource.memoryCapacityBytes;
  }
  const { cpu, memory } = resource.utilization;
  figures.daemonCpuPercent = cpu === null ? null : percentOf(cpu);
  figures.daemonMemoryPercent = memory === null ? null : percentOf(memory);
}

/** 0.55 is 55 %, where doubles multiply to a little more, and would exceed a maximum of 55. */
function percentOf(ratio: number): number {
  const percent = ratio * 100;
  const decimal = Math.round(percent * 1e10) / 1e10;
  return decimal / 100 === ratio ? decimal : percent;
}

/** Measured use in percent: the runtime's figure, else the daemon's; null when nobody reported one. */
export function cpuUsedPercent(figures: Figures): number | null {
  return figures.snapshotCpuPercent ?? figures.daemonCpuPercent;
}

export function memoryUsedPercent(figures: Figures): number | null {
  return figures.snapshotMemoryPercent ?? figures.daemonMemoryPercent;
}
