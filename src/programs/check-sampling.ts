import { createSampler } from "../actors/sampler/samplers.ts";
import { formatDuration } from "../messages/duration.ts";
import type { Observation, Source } from "../messages/sampling.ts";
import { SOURCES } from "../messages/sampling.ts";
import { systemClock } from "../ports/clock.ts";
import type { DaemonSettings } from "./daemon-settings.ts";
import { formatBytes, formatCores, formatRatio } from "./figures.ts";
import { renderTable } from "./table.ts";

/**
 * Shows what the daemon would sample from where, by sampling everything once in this thread. Writes nothing but to
 * `output`; a filestore that hangs makes it wait. Returns the exit code: 1 when something could not be read.
 */
export function checkSampling(settings: DaemonSettings, output: NodeJS.WritableStream): number {
  const observations = SOURCES.map((source) => sampleOnce(source, settings));
  output.write(`The configuration is valid. The daemon would serve ${settings.socket} as node ${settings.nodeId}\n`);
  output.write(`and sample every ${formatDuration(settings.intervalMs)}:\n\n`);
  output.write(renderTable(["SOURCE", "NOW", "FROM", ""], observations.flatMap(rowsOf)));
  const failed = observations.filter((observation) => observation.failed).map(({ source }) => source);
  if (failed.length === 0) return 0;
  output.write(`\nCould not be read: ${failed.join(", ")}.\n`);
  return 1;
}

function sampleOnce(source: Source, settings: DaemonSettings): Observation {
  const { proc, sys, sandboxCgroup, filestore, filestoreOvercommitRatio } = settings;
  return createSampler({ source, proc, sys, sandboxCgroup, filestore, filestoreOvercommitRatio }, systemClock).sample(
    1,
  );
}

function rowsOf(observation: Observation): string[][] {
  const { source, readings } = observation;
  const [first, ...others] = readings.map(({ from, ratio, why }) => [
    from,
    why ?? (ratio === null ? "" : formatRatio(ratio)),
  ]);
  const now = nowOf(observation);
  return [[source, now, ...(first ?? ["nothing", ""])], ...others.map((other) => ["", "", ...other])];
}

function nowOf(observation: Observation): string {
  if (observation.source === "capacity") {
    const { cpuMillicores, memoryBytes } = observation;
    const cpu = cpuMillicores === null ? "unknown" : formatCores(cpuMillicores);
    return `${cpu}, ${memoryBytes === null ? "unknown" : formatBytes(memoryBytes)}`;
  }
  return observation.ratio === null ? "unknown" : formatRatio(observation.ratio);
}
