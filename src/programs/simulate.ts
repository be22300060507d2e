import { readFileSync } from "node:fs";
import { type FleetNode, parseFleet } from "../simulation/fleet-file.ts";
import { type SimulationResult, simulate } from "../simulation/simulation.ts";
import { UsageError } from "./options.ts";
import type { SimulateSettings } from "./simulate-settings.ts";
import { renderTable } from "./table.ts";

/** Runs every strategy on the same stream and writes the table, or JSON, and nothing else. Returns the exit code. */
export function runSimulation(
  settings: SimulateSettings & { readonly json: boolean },
  output: NodeJS.WritableStream,
): number {
  const { requests, ratePerSecond, lifetimeMs, cpuMillicores, memoryBytes } = settings;
  const fleet = readFleet(settings.fleet);
  const terms = {
    fleet,
    workload: { requests, ratePerSecond, lifetimeMs },
    request: { cpuMillicores, memoryBytes },
    admission: settings.admission,
    heartbeatIntervalMs: settings.heartbeatIntervalMs,
    seed: settings.seed,
  };
  const results = settings.strategies.map((strategy) => simulate(strategy, terms));
  output.write(settings.json ? renderJson(settings, fleet, results) : renderResults(results));
  return 0;
}

function readFleet(path: string): readonly FleetNode[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (thrown) {
    throw new UsageError(`--fleet: ${path} cannot be read: ${(thrown as Error).message}`);
  }
  const reading = parseFleet(text);
  if (!reading.ok) throw new UsageError(`--fleet: ${path}: ${reading.problem}`);
  return reading.nodes;
}

function renderResults(results: readonly SimulationResult[]): string {
  const header = ["STRATEGY", "PLACED", "REJECTED", "PEAK PRESSURE", "ON", "IMBALANCE", "OF PRESSURE"];
  const rows = results.map(({ strategy, placed, rejected, peak, imbalance }) => [
    strategy,
    String(placed),
    String(rejected),
    (peak?.pressure ?? 0).toFixed(4),
    peak === null ? "" : `${peak.nodeId} ${peak.dimension}`,
    imbalance.allocation.toFixed(4),
    imbalance.pressure.toFixed(4),
  ]);
  return renderTable(header, rows) + results.map(renderReasons).join("");
}

function renderReasons({ strategy, rejected, reasons }: SimulationResult): string {
  if (rejected === 0) return "";
  const words = Object.entries(reasons).map(([reason, count]) => `${count} ${reason}`);
  return `\n${strategy} rejected ${rejected}; nodes dropped: ${words.join(", ")}\n`;
}

function renderJson(
  settings: SimulateSettings,
  fleet: readonly FleetNode[],
  results: readonly SimulationResult[],
): string {
  const content = {
    seed: settings.seed,
    nodes: fleet.length,
    requests: settings.requests,
    cpu: settings.cpuMillicores / 1000,
    memory_bytes: settings.memoryBytes,
    admission: settings.admission,
    heartbeat_interval_ms: settings.heartbeatIntervalMs,
    lifetime_ms: settings.lifetimeMs,
    rate_per_second: settings.ratePerSecond,
    strategies: results.map(({ strategy, placed, rejected, reasons, peak, imbalance }) => ({
      strategy,
      placed,
      rejected,
      reasons,
      peak_pressure: peak?.pressure ?? 0,
      peak_node_id: peak?.nodeId ?? null,
      peak_dimension: peak?.dimension ?? null,
      imbalance: imbalance.allocation,
      pressure_imbalance: imbalance.pressure,
    })),
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}
