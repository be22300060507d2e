import type { WireNode } from "../messages/http/node.ts";
import { METRICS } from "../messages/sampling.ts";
import { systemClock } from "../ports/clock.ts";
import { type ApiCommandOptions, runApiCommand } from "./api-client.ts";
import { formatBytes, formatRatio, formatSpan } from "./figures.ts";
import { renderTable } from "./table.ts";

const HEADER = ["NODE", "STATUS", "CPU", "MEMORY", "PRESSURE", "PENDING", "CONFIRMED", "BUSIEST", "SEEN", "NOTE"];

/** Prints a table of the nodes. Returns the exit code. */
export function showNodes(options: ApiCommandOptions): Promise<number> {
  return runApiCommand(options, async (call) => {
    const answer = await call("listNodes");
    return { answer, page: renderNodes(answer.nodes, { nowMs: systemClock.wallMs(), url: options.url }) };
  });
}

export interface NodesPage {
  /** The moment of the Unix clock, in milliseconds. */
  readonly nowMs: number;
  readonly url: string;
}

export function renderNodes(nodes: readonly WireNode[], { nowMs, url }: NodesPage): string {
  if (nodes.length === 0) {
    return `No nodes yet. A node appears when its daemon reports:\n  $ npx evenkeel daemon --no-runtime --scheduler ${url}`;
  }
  return renderTable(
    HEADER,
    nodes.map((node) => [
      node.node_id,
      node.status,
      `${node.projected.cpu} of ${node.capacity.cpu ?? "?"}`,
      `${formatBytes(node.projected.memory_bytes)} of ${memoryCapacity(node)}`,
      node.projected.pressure === null ? "-" : formatRatio(node.projected.pressure),
      String(node.reservations.pending),
      String(node.reservations.confirmed),
      busiestOf(node),
      node.last_seen === null ? "never" : `${formatSpan(nowMs - Date.parse(node.last_seen))} ago`,
      noteOf(node),
    ]),
  );
}

function memoryCapacity({ capacity }: WireNode): string {
  return capacity.memory_bytes === null ? "?" : formatBytes(capacity.memory_bytes);
}

/** The metric that the daemon measured highest. */
function busiestOf({ utilization }: WireNode): string {
  const known = METRICS.flatMap((metric) => {
    const ratio = utilization?.[metric] ?? null;
    return ratio === null ? [] : [{ metric, ratio }];
  });
  const [busiest] = known.sort((a, b) => b.ratio - a.ratio);
  return busiest === undefined ? "-" : `${busiest.metric} ${formatRatio(busiest.ratio)}`;
}

function noteOf({ reasons, demoted, over_limit }: WireNode): string {
  return [...reasons, ...(demoted ? ["demoted"] : []), ...(over_limit ? ["over its limit"] : [])].join(", ");
}
