import type { Cgroup } from "./cgroup-discovery.ts";
import { readCgroupCount, readCgroupLimit } from "./cgroup-value.ts";
import type { Outcome } from "./outcome.ts";

/** How many tasks, threads included, the cgroup may have; `none` where it has no limit of its own. Same files in v1, v2. */
export function readPidsLimit(cgroup: Cgroup): Outcome<bigint> {
  return readCgroupLimit(cgroup.directory, "pids.max");
}

/** How many tasks the cgroup and all below it have now. Source: Documentation/admin-guide/cgroup-v1/pids.rst. */
export function readPidsUsage(cgroup: Cgroup): Outcome<bigint> {
  return readCgroupCount(cgroup.directory, "pids.current");
}
