import type { SamplerInit } from "../../messages/sampling.ts";
import { type FileNr, fileNrPath, readFileNr } from "./file-nr.ts";
import { type Input, observeMetric } from "./metric-observation.ts";
import type { Outcome } from "./outcome.ts";
import { usageRatio } from "./ratio.ts";
import type { MetricSampler, SamplerPorts } from "./sampler.ts";
import { readOpenDescriptors, selfFdPath } from "./self-fd.ts";
import { readOpenFilesLimit } from "./self-limits.ts";

/** Samples the system's file handles, and the daemon's own descriptors against its soft limit. */
export function createFdSampler(init: SamplerInit, { clock }: SamplerPorts): MetricSampler {
  return {
    sample: (tick) => observeMetric({ source: "fd", tick, clock }, () => [measureSystem(init), measureSelf(init)]),
  };
}

function measureSystem(init: SamplerInit): Input {
  const fileNr = readFileNr(init);
  return { from: fileNrPath(init), outcome: fileNr.kind === "found" ? fileHandleRatio(fileNr.value) : fileNr };
}

/** Handles in use of all that may be allocated. */
export function fileHandleRatio({ allocated, free, maximum }: FileNr): Outcome<number> {
  return usageRatio(allocated - free, maximum);
}

function measureSelf(init: SamplerInit): Input {
  return { from: selfFdPath(init), outcome: selfRatio(init) };
}

function selfRatio(init: SamplerInit): Outcome<number> {
  const limit = readOpenFilesLimit(init);
  if (limit.kind !== "found") return limit;
  const open = readOpenDescriptors(init);
  return open.kind === "found" ? usageRatio(open.value, limit.value) : open;
}
