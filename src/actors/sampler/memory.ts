import type { SamplerInit } from "../../messages/sampling.ts";
import { discoverCgroups, readCgroupView } from "./cgroup-discovery.ts";
import { readMemoryLimitBytes, readMemoryUsageBytes } from "./cgroup-memory.ts";
import { type Meminfo, meminfoPath, readMeminfo } from "./meminfo.ts";
import { cgroupInputs, type Input, observeMetric } from "./metric-observation.ts";
import { failed, type Outcome } from "./outcome.ts";
import { usageRatio } from "./ratio.ts";
import type { MetricSampler, SamplerPorts } from "./sampler.ts";

const CGROUP_FILES = { readLimit: readMemoryLimitBytes, readUsage: readMemoryUsageBytes };

/** Samples the host's memory, and each cgroup with a finite memory limit. */
export function createMemorySampler(init: SamplerInit, { clock }: SamplerPorts): MetricSampler {
  return {
    sample: (tick) =>
      observeMetric({ source: "memory", tick, clock }, () => [
        measureHost(init),
        ...cgroupInputs(discoverCgroups(readCgroupView(init), "memory"), CGROUP_FILES),
      ]),
  };
}

function measureHost(init: SamplerInit): Input {
  const meminfo = readMeminfo(init);
  return { from: meminfoPath(init), outcome: meminfo.kind === "found" ? hostMemoryRatio(meminfo.value) : meminfo };
}

/** `(MemTotal − MemAvailable) / MemTotal`. */
export function hostMemoryRatio({ totalBytes, availableBytes }: Meminfo): Outcome<number> {
  if (availableBytes.kind !== "found") return availableBytes;
  if (availableBytes.value > totalBytes) {
    return failed(`MemAvailable is ${availableBytes.value} bytes, more than MemTotal, ${totalBytes} bytes`);
  }
  return usageRatio(totalBytes - availableBytes.value, totalBytes);
}
