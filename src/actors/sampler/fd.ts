import type { SamplerInit } from "../../messages/sampling.ts";
import { type FileNr, fileNrPath, readFileNr } from "./file-nr.ts";
import { type Input, observeMetric } from "./metric-observation.ts";
import { found, type Missing, type Outcome } from "./outcome.ts";
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
  return {
    from: fileNrPath(init),
    outcome: fileNr.kind === "found" ? fileHandleRatio(fileNr.value) : handlesLeft(fileNr),
  };
}

/** Without a handle left in the whole system, this file could not be opened; without a descriptor of our own neither. */
function handlesLeft(outcome: Missing): Outcome<number> {
  return /\bENFILE$/.test(outcome.why) ? found(1) : outcome;
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
  if (limit.kind !== "found") return takenAsFull(limit);
  const open = readOpenDescriptors(init);
  return open.kind === "found" ? usageRatio(open.value, limit.value) : takenAsFull(open);
}

/** A read that failed because every descriptor (EMFILE) or handle (ENFILE) is taken has measured just that. */
function takenAsFull(outcome: Missing): Outcome<number> {
  return /\bE[MN]FILE$/.test(outcome.why) ? found(1) : outcome;
}
