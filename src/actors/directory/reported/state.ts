/**
 * Nodes' newest reports, for whoever wants to see them: what placement reads of a report is rounded to what it counts
 * with, this is what was sent. Pure.
 */
import type { NodeReport } from "./client.ts";

export class Reports {
  readonly #reports = new Map<string, NodeReport>();

  onReport(report: NodeReport): void {
    const { machineInfo } = report;
    const before = this.#reports.get(report.nodeId);
    // The configuration comes once per process, with its first heartbeat.
    const cpuConfigJson = machineInfo?.cpuConfigJson || this.#cpuConfigOf(before, report.serviceInstanceId);
    this.#reports.set(report.nodeId, {
      ...report,
      machineInfo: machineInfo === null ? (before?.machineInfo ?? null) : { ...machineInfo, cpuConfigJson },
    });
  }

  onNodeGone(nodeId: string): void {
    this.#reports.delete(nodeId);
  }

  get(nodeId: string): NodeReport | null {
    return this.#reports.get(nodeId) ?? null;
  }

  /** By node id. */
  all(): ReadonlyMap<string, NodeReport> {
    return new Map(this.#reports);
  }

  #cpuConfigOf(before: NodeReport | undefined, serviceInstanceId: string): string {
    return before?.serviceInstanceId === serviceInstanceId ? (before.machineInfo?.cpuConfigJson ?? "") : "";
  }
}
