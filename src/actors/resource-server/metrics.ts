import { Gauge, Registry } from "prom-client";
import type { Published, SourceOutcome } from "../../messages/resource.ts";

const OUTCOMES: readonly SourceOutcome[] = ["ok", "none", "failed", "missed"];

/**
 * The observations in Prometheus text format (version 0.0.4), as of `nowMs` (monotonic). Unknown ones are left out: a
 * gauge that keeps its last value would look like knowledge.
 */
export async function renderMetrics({ snapshot, sources, capacityAtMs }: Published, nowMs: number): Promise<string> {
  const registry = new Registry();
  const gauge = (name: string, help: string, labelNames: string[] = []): Gauge =>
    new Gauge({ name: `evenkeel_${name}`, help, labelNames, registers: [registry] });

  const utilization = gauge("utilization_ratio", "Fraction in use, 0 to 1; absent while unknown.", ["metric"]);
  for (const [metric, ratio] of Object.entries(snapshot.utilization))
    if (ratio !== null) utilization.set({ metric }, ratio);

  // Less than a core is a capacity of 0; one that was never read is none.
  if (capacityAtMs !== null) gauge("capacity_cpu_cores", "Effective CPU capacity in whole cores.").set(snapshot.cpu);
  if (capacityAtMs !== null) {
    gauge("capacity_memory_bytes", "Effective memory capacity.").set(Number(snapshot.memoryBytes));
  }
  if (snapshot.storageBytes !== null) {
    gauge("capacity_storage_bytes", "Bytes that the filestore can still promise.").set(Number(snapshot.storageBytes));
  }

  const age = gauge("sample_age_seconds", "Time since the source's last observation arrived.", ["source"]);
  const duration = gauge("sample_duration_seconds", "How long the source's last sample took.", ["source"]);
  const outcomes = gauge(
    "sample_outcome",
    "1 for the outcome of the source's last tick: ok, none (read, but no ratio), failed or missed.",
    ["source", "outcome"],
  );
  for (const { source, sampledAtMs, durationMs, outcome } of sources) {
    if (sampledAtMs !== null) age.set({ source }, Math.max(0, nowMs - sampledAtMs) / 1000);
    if (durationMs !== null) duration.set({ source }, durationMs / 1000);
    for (const each of OUTCOMES) outcomes.set({ source, outcome: each }, each === outcome ? 1 : 0);
  }
  return registry.metrics();
}
