import type { SamplerInit } from "../../messages/sampling.ts";
import type { Clock } from "../../ports/clock.ts";
import { readCpuQuota, readCpuUsageNs } from "./cgroup-cpu.ts";
import { type CgroupCpuSample, stepCgroupCpu } from "./cgroup-cpu-ratio.ts";
import { type Cgroup, discoverCgroups, readCgroupView } from "./cgroup-discovery.ts";
import { stepHostCpu } from "./host-cpu-ratio.ts";
import { type Input, observeMetric } from "./metric-observation.ts";
import { found, type Outcome } from "./outcome.ts";
import type { MetricSampler, SamplerPorts } from "./sampler.ts";
import { type CpuTimes, readStat, statPath } from "./stat.ts";

/** Samples the host's busy fraction, and how much of each finite CPU quota is used, both since the last sample. */
export function createCpuSampler(init: SamplerInit, { clock }: SamplerPorts): MetricSampler {
  let hostBaseline: CpuTimes | null = null;
  let cgroupBaselines: ReadonlyMap<string, CgroupCpuSample> = new Map();

  function measureHost(): Input {
    const { ratio, baseline } = stepHostCpu(hostBaseline, readStat(init));
    hostBaseline = baseline;
    return { from: statPath(init), outcome: ratio };
  }

  function measureCgroups(): readonly Input[] {
    const { cgroups, problems } = discoverCgroups(readCgroupView(init), "cpu");
    const inputs: Input[] = [...problems];
    // Only what applies now is kept, so that the baselines of cgroups that are gone do not pile up.
    const baselines = new Map<string, CgroupCpuSample>();
    for (const cgroup of cgroups) {
      const { directory } = cgroup;
      const { ratio, baseline } = stepCgroupCpu(cgroupBaselines.get(directory) ?? null, readCgroupCpu(cgroup, clock));
      if (baseline !== null) baselines.set(directory, baseline);
      inputs.push({ from: directory, outcome: ratio });
    }
    cgroupBaselines = baselines;
    return inputs;
  }

  return {
    sample: (tick) => observeMetric({ source: "cpu", tick, clock }, () => [measureHost(), ...measureCgroups()]),
  };
}

function readCgroupCpu(cgroup: Cgroup, clock: Clock): Outcome<CgroupCpuSample> {
  const quota = readCpuQuota(cgroup);
  if (quota.kind !== "found") return quota;
  const atMs = clock.monotonicMs();
  const usageNs = readCpuUsageNs(cgroup);
  return usageNs.kind === "found" ? found({ ...quota.value, usageNs: usageNs.value, atMs }) : usageNs;
}
