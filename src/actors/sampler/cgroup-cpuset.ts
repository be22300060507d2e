import { join } from "node:path";
import type { Cgroup } from "./cgroup-discovery.ts";
import { parseCpuList } from "./cpu-list.ts";
import { readAndParse, VALUE_BYTES_MAX } from "./kernel-file.ts";
import { none, type Outcome } from "./outcome.ts";

/**
 * How many CPUs the cgroup's tasks may run on, at least 1; `none` where the cgroup has no cpuset of its own. The effective
 * list counts, not the configured one, which may name CPUs that are offline or taken by a parent.
 * Source: `cpuset.cpus.effective` of Documentation/admin-guide/cgroup-v2.rst, `cpuset.effective_cpus` of cgroup-v1/cpusets.rst.
 */
export function readEffectiveCpus(cgroup: Cgroup): Outcome<number> {
  const name = cgroup.version === 2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus";
  const count = readAndParse({ path: join(cgroup.directory, name), bytesMax: VALUE_BYTES_MAX }, parseCpuList);
  return count.kind === "found" && count.value === 0 ? none("the CPU list is empty: no cpuset") : count;
}
