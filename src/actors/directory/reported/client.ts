/** All that others use of the actor that keeps nodes' reports. */
import type { MachineInfo, NodeSnapshot } from "../../../messages/proto/generated/scheduler/v1/scheduler.ts";
import type { Reference } from "../../kernel/reference.ts";
import type { NodeGone } from "../departures.ts";

/** What a node said of itself in its newest heartbeat that counted, exactly as it came. */
export interface NodeReport {
  readonly nodeId: string;
  readonly serviceInstanceId: string;
  readonly commit: string;
  /** Null: not sent. */
  readonly machineInfo: MachineInfo | null;
  /** Its `reported_at_unix_ms` is the time of arrival where the node sent none. */
  readonly snapshot: NodeSnapshot;
}

export interface NodeReported {
  readonly type: "node_reported";
  readonly report: NodeReport;
}

export interface GetReport {
  readonly type: "get_report";
  readonly nodeId: string;
}

export interface ListReports {
  readonly type: "list_reports";
}

export type ReportsMessage = NodeReported | GetReport | ListReports | NodeGone;

export type ReportsReplies = {
  get_report: { readonly report: NodeReport | null };
  list_reports: { readonly reports: ReadonlyMap<string, NodeReport> };
};

export type ReportsReference = Reference<ReportsMessage, ReportsReplies>;
