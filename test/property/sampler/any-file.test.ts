import fc from "fast-check";
import { expect, test } from "vitest";
import { createSampler } from "../../../src/actors/sampler/samplers.ts";
import { type Observation, SOURCES } from "../../../src/messages/sampling.ts";
import { KernelTree, StepClock, type TreeName } from "../../unit/sampler/kernel-tree.ts";

// Each run writes a file and samples every source three times.
const RUNS = { seed: 27_182, numRuns: 250 };

const HOST_FILES = [
  "proc/stat",
  "proc/meminfo",
  "proc/sys/fs/file-nr",
  "proc/self/limits",
  "proc/self/cgroup",
  "proc/self/mountinfo",
  "sys/devices/system/cpu/online",
];
const V2 = "sys/fs/cgroup/system.slice/evenkeel.service";
const V2_FILES = [
  "cpu.max",
  "cpu.stat",
  "memory.max",
  "memory.current",
  "pids.max",
  "pids.current",
  "cpuset.cpus.effective",
];
const V1 = "sys/fs/cgroup";
const V1_FILES = [
  "cpu,cpuacct/docker/4f1c/cpu.cfs_quota_us",
  "cpu,cpuacct/docker/4f1c/cpu.cfs_period_us",
  "cpu,cpuacct/docker/4f1c/cpuacct.usage",
  "memory/docker/4f1c/memory.limit_in_bytes",
  "memory/docker/4f1c/memory.usage_in_bytes",
  "cpuset/docker/4f1c/cpuset.effective_cpus",
];

const HOSTS: readonly { readonly name: TreeName; readonly files: readonly string[] }[] = [
  { name: "v2", files: [...HOST_FILES, ...V2_FILES.map((file) => `${V2}/${file}`)] },
  { name: "v1-comounted", files: [...HOST_FILES, ...V1_FILES.map((file) => `${V1}/${file}`)] },
];

/** What a file may turn into: bytes of any kind, the shards of numbers, or the good text damaged in one place. */
const damage = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => () => bytes),
  fc
    .array(
      fc.constantFrom(
        "0",
        "-1",
        "max",
        "18446744073709551616",
        "1e9",
        "NaN",
        "cpu ",
        "0::/",
        "/..",
        ":",
        "\0",
        "\n",
        " ",
      ),
      {
        maxLength: 20,
      },
    )
    .map((shards) => () => shards.join("")),
  fc
    .tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(40), fc.string({ unit: "binary", maxLength: 20 }))
    .map(([where, length, text]) => (good: string) => {
      const start = Math.floor(where * good.length);
      return good.slice(0, start) + text + good.slice(start + length);
    }),
);

function expectSound(observation: Observation): void {
  for (const { ratio, why } of observation.readings) {
    expect(ratio === null || (ratio >= 0 && ratio <= 1)).toBe(true);
    expect(why === null).toBe(ratio !== null);
  }
  if (observation.source === "capacity") {
    const { cpuMillicores, memoryBytes } = observation;
    expect(cpuMillicores === null || (Number.isSafeInteger(cpuMillicores) && cpuMillicores >= 0)).toBe(true);
    expect(memoryBytes === null || memoryBytes >= 0n).toBe(true);
  } else {
    expect(observation.ratio === null || (observation.ratio >= 0 && observation.ratio <= 1)).toBe(true);
  }
}

test.each(HOSTS)(
  "whatever one file of $name holds, no sampler throws and every ratio is null or within [0, 1]",
  (host) => {
    const tree = new KernelTree(host.name);
    const clock = new StepClock();
    fc.assert(
      fc.property(fc.constantFrom(...host.files), damage, (file, damaged) => {
        const good = tree.read(file);
        const samplers = SOURCES.map((source) =>
          createSampler(tree.init(source, { sandboxCgroup: "sandboxes.slice", filestore: tree.path }), clock),
        );
        const sampleAll = (tick: number) => {
          for (const sampler of samplers) expectSound(sampler.sample(tick));
          clock.nowMs += 5_000;
        };
        sampleAll(1);
        tree.write(file, damaged(good));
        sampleAll(2);
        tree.write(file, good);
        sampleAll(3);
      }),
      RUNS,
    );
  },
);
