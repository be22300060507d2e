import type { Observation, SamplerInit } from "../../messages/sampling.ts";
import type { Clock } from "../../ports/clock.ts";
import { createCapacitySampler } from "./capacity.ts";
import { createCpuSampler } from "./cpu.ts";
import { createDiskSampler } from "./disk.ts";
import { createFdSampler } from "./fd.ts";
import { createMemorySampler } from "./memory.ts";
import { createPidSampler } from "./pid.ts";

export interface Sampler {
  sample(tick: number): Observation;
}

const CREATE = {
  cpu: createCpuSampler,
  memory: createMemorySampler,
  pid: createPidSampler,
  fd: createFdSampler,
  disk: createDiskSampler,
  capacity: createCapacitySampler,
} as const;

/** The sampler of `init.source`. Each keeps its own baselines; two of one source share nothing. */
export function createSampler(init: SamplerInit, clock: Clock): Sampler {
  return CREATE[init.source](init, { clock });
}
