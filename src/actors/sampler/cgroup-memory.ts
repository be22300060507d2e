import type { Cgroup } from "./cgroup-discovery.ts";
import { readCgroupCount, readCgroupLimit } from "./cgroup-value.ts";
import { none, type Outcome } from "./outcome.ts";

// An unlimited v1 cgroup shows the largest page-aligned signed word, which differs with the page size: 2^63 − 4096 on most
// machines. No machine has an exbibyte, so from there on it is no limit.
const UNLIMITED_BYTES = 2n ** 60n;

/**
 * The cgroup's hard memory limit in bytes; `none` where it has none of its own.
 * Source: `memory.max` of Documentation/admin-guide/cgroup-v2.rst, `memory.limit_in_bytes` of cgroup-v1/memory.rst.
 */
export function readMemoryLimitBytes(cgroup: Cgroup): Outcome<bigint> {
  if (cgroup.version === 2) return readCgroupLimit(cgroup.directory, "memory.max");
  const limit = readCgroupCount(cgroup.directory, "memory.limit_in_bytes");
  return limit.kind === "found" && limit.value >= UNLIMITED_BYTES
    ? none("memory.limit_in_bytes: 2^60 bytes or more is no limit")
    : limit;
}

/** Memory that is charged to the cgroup and all below it now, page cache included, in bytes. */
export function readMemoryUsageBytes(cgroup: Cgroup): Outcome<bigint> {
  return readCgroupCount(cgroup.directory, cgroup.version === 2 ? "memory.current" : "memory.usage_in_bytes");
}
