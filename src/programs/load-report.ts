/** What a load run shows at its end: what became of the requests, how fast, and whether the ledger holds. */
import { type Latency, latencyOf } from "../actors/load/latency.ts";
import { isGranted, TIMED_CALLS } from "../actors/load/records.ts";
import { formatBytes, formatCores } from "./figures.ts";
import { AUDIT_TIMES, type LoadResult } from "./load-terms.ts";
import { renderTable } from "./table.ts";

/** Violations shown of one invariant: a fault of the ledger breaks one and the same promise thousands of times. */
const SHOWN_MOST = 10;

export function hasPassed({ findings, cutShort }: LoadResult): boolean {
  return cutShort === null && findings.every(({ violations }) => violations.length === 0);
}

export function renderLoadPage(result: LoadResult): string {
  const { terms, records, firedMs, calls, cancelledById, cutShort } = result;
  const outcomes = Object.entries(countOutcomes(result)).map(([outcome, count]) => [outcome, String(count)]);
  const { scheduleAnswersPerSecond, callsPerSecond } = ratesOf(result);
  const terse = [
    // Those that were sent: under chaos the kills end the run, long before the last of the terms' requests.
    `${records.length} requests of ${formatCores(terms.cpuCount * 1000)} and ${formatBytes(terms.memoryBytes)}`,
    `${terms.nodes.length} nodes of ${formatCores(terms.nodeCpuCount * 1000)} and ${formatBytes(terms.nodeMemoryBytes)}`,
    `${terms.concurrency} at once on ${terms.workers} threads`,
    `seed ${terms.seed}`,
  ].join(", ");
  return [
    `${terse}\n\n`,
    renderTable(["OUTCOME", "REQUESTS"], outcomes),
    cancelledById === 0
      ? ""
      : `${cancelledById} of the abandoned were cancelled by id at the end, --wait being over.\n`,
    cutShort === null ? "" : `Cut short by ${cutShort}: ${records.length} of ${terms.requests} were sent.\n`,
    "\n",
    renderTable(
      ["CALL", "COUNT", "P50", "P90", "P99", "MAX"],
      TIMED_CALLS.flatMap((call) => latencyRow(result, call)),
    ),
    `\n${calls} calls in ${(firedMs / 1000).toFixed(2)} s: ${callsPerSecond} calls/s, ${scheduleAnswersPerSecond} schedules/s\n\n`,
    renderTable(["AUDIT", ...AUDIT_TIMES.map((when) => when.toUpperCase())], auditRows(result)),
    ...result.findings.map(renderViolations),
  ].join("");
}

function latencyRow({ durationsMs }: LoadResult, call: (typeof TIMED_CALLS)[number]): string[][] {
  const latency = latencyOf(durationsMs[call]);
  if (latency === null) return [];
  const { count, p50Ms, p90Ms, p99Ms, maxMs } = latency;
  return [[call, String(count), ...[p50Ms, p90Ms, p99Ms, maxMs].map((ms) => `${ms.toFixed(1)} ms`)]];
}

/** One row per invariant; some are judged only once the last lease is over. */
function auditRows({ findings }: LoadResult): string[][] {
  const promises = new Set(findings.map(({ invariant }) => invariant.promise));
  return [...promises].map((promise) => [
    promise,
    ...AUDIT_TIMES.map((time) => {
      const finding = findings.find(({ invariant, when }) => invariant.promise === promise && when === time);
      if (finding === undefined) return "";
      return finding.violations.length === 0 ? "holds" : `VIOLATED ${finding.violations.length} times`;
    }),
  ]);
}

function renderViolations({ invariant, when, violations }: LoadResult["findings"][number]): string {
  if (violations.length === 0) return "";
  const more = violations.length - SHOWN_MOST;
  const lines = violations.slice(0, SHOWN_MOST).map((violation) => `  ${violation}\n`);
  return `\n${invariant.name} ${when}:\n${lines.join("")}${more > 0 ? `  and ${more} more\n` : ""}`;
}

export function renderLoadJson(result: LoadResult): string {
  const { terms, records, firedMs, calls, findings, cancelledById, cutShort } = result;
  const { scheduleAnswersPerSecond, callsPerSecond } = ratesOf(result);
  const content = {
    seed: terms.seed,
    passed: hasPassed(result),
    cut_short: cutShort,
    requests: records.length,
    outcomes: countOutcomes(result),
    cancelled_by_id: cancelledById,
    fired_ms: Math.round(firedMs),
    calls,
    calls_per_second: callsPerSecond,
    schedules_per_second: scheduleAnswersPerSecond,
    latency: Object.fromEntries(TIMED_CALLS.map((call) => [call, wireLatency(latencyOf(result.durationsMs[call]))])),
    granted_by_node: grantedByNode(result),
    audit: findings.map(({ invariant, when, violations }) => ({
      invariant: invariant.name,
      when,
      violations: violations.length,
      examples: violations.slice(0, SHOWN_MOST),
    })),
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** How many requests ended how; refusals by their code. */
function countOutcomes({ records }: LoadResult): Record<string, number> {
  const counts = new Map<string, number>();
  for (const record of records) {
    const outcome =
      record.outcome === "granted" ? record.end : record.outcome === "refused" ? `refused: ${record.code}` : "unclear";
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].sort(([left], [right]) => (left < right ? -1 : 1)));
}

function grantedByNode({ records }: LoadResult): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { grant } of records.filter(isGranted)) counts[grant.nodeId] = (counts[grant.nodeId] ?? 0) + 1;
  return counts;
}

function ratesOf({ calls, durationsMs, firedMs }: LoadResult): {
  readonly callsPerSecond: number;
  readonly scheduleAnswersPerSecond: number;
} {
  const perSecond = (count: number): number => Math.round((count * 1000) / Math.max(firedMs, 1));
  return { callsPerSecond: perSecond(calls), scheduleAnswersPerSecond: perSecond(durationsMs.schedule.length) };
}

function wireLatency(latency: Latency | null): object | null {
  if (latency === null) return null;
  const { count, p50Ms, p90Ms, p99Ms, maxMs } = latency;
  return { count, p50_ms: p50Ms, p90_ms: p90Ms, p99_ms: p99Ms, max_ms: maxMs };
}
