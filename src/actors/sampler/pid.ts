import type { SamplerInit } from "../../messages/sampling.ts";
import { discoverCgroups, readCgroupView } from "./cgroup-discovery.ts";
import { readPidsLimit, readPidsUsage } from "./cgroup-pids.ts";
import { cgroupInputs, observeMetric } from "./metric-observation.ts";
import type { MetricSampler, SamplerPorts } from "./sampler.ts";

const CGROUP_FILES = { readLimit: readPidsLimit, readUsage: readPidsUsage };

/** Samples each cgroup with a finite limit of tasks, and nothing else: the host's own table of tasks is not covered. */
export function createPidSampler(init: SamplerInit, { clock }: SamplerPorts): MetricSampler {
  return {
    sample: (tick) =>
      observeMetric({ source: "pid", tick, clock }, () =>
        cgroupInputs(discoverCgroups(readCgroupView(init), "pids"), CGROUP_FILES),
      ),
  };
}
