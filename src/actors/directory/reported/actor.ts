import type { LocalActor } from "../../kernel/actor.ts";
import type { ReportsMessage, ReportsReplies } from "./client.ts";
import { Reports } from "./state.ts";

/** Owns nodes' newest reports as they came. It is soft: every heartbeat says them again. */
export function reportsActor(): LocalActor<ReportsMessage> {
  return {
    create() {
      const reports = new Reports();
      return {
        receive(message, answer) {
          switch (message.type) {
            case "node_reported":
              reports.onReport(message.report);
              return;
            case "get_report":
              answer({ report: reports.get(message.nodeId) } satisfies ReportsReplies["get_report"]);
              return;
            case "list_reports":
              answer({ reports: reports.all() } satisfies ReportsReplies["list_reports"]);
              return;
            case "node_gone":
              reports.onNodeGone(message.nodeId);
              return;
            default:
              message satisfies never;
          }
        },
      };
    },
  };
}
