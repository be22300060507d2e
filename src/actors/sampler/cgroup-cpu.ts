import { join } from "node:path";
import type { Cgroup } from "./cgroup-discovery.ts";
import { parseSigned, parseUnsigned } from "./integer.ts";
import { readAndParse, VALUE_BYTES_MAX } from "./kernel-file.ts";
import { failed, found, none, type Outcome, quote } from "./outcome.ts";

/** How much CPU time a cgroup may use: `quotaUs` in every `periodUs`. Source: Documentation/scheduler/sched-bwc.rst. */
export interface CpuQuota {
  /** Microseconds, at least 0. */
  readonly quotaUs: bigint;
  /** Microseconds, at least 1. */
  readonly periodUs: bigint;
}

const NANOSECONDS_PER_MICROSECOND = 1000n;

/** `none` where the cgroup has no quota of its own: no such file, `max`, or a negative one. */
export function readCpuQuota(cgroup: Cgroup): Outcome<CpuQuota> {
  const read = <T>(name: string, parse: (text: string) => Outcome<T>) =>
    readAndParse({ path: join(cgroup.directory, name), bytesMax: VALUE_BYTES_MAX }, parse);
  if (cgroup.version === 2) return read("cpu.max", parseCpuMax);
  const quotaUs = read("cpu.cfs_quota_us", parseCfsQuota);
  if (quotaUs.kind !== "found") return quotaUs;
  const periodUs = read("cpu.cfs_period_us", parseCfsPeriod);
  if (periodUs.kind !== "found") return periodUs;
  return found({ quotaUs: quotaUs.value, periodUs: periodUs.value });
}

/** v2 `cpu.max`: `$MAX $PERIOD`. Source: Documentation/admin-guide/cgroup-v2.rst. */
export function parseCpuMax(text: string): Outcome<CpuQuota> {
  const words = text.trim().split(/\s+/);
  const [quota = "", period = ""] = words;
  const periodUs = parseCfsPeriod(period);
  if (words.length !== 2 || periodUs.kind !== "found") return failed(`not a cpu.max: ${quote(text)}`);
  const quotaUs = quota === "max" ? none("the quota is max") : parseCfsQuota(quota);
  return quotaUs.kind === "found" ? found({ quotaUs: quotaUs.value, periodUs: periodUs.value }) : quotaUs;
}

/** v1 `cpu.cfs_quota_us`, in microseconds; −1 is no quota. */
export function parseCfsQuota(text: string): Outcome<bigint> {
  const quotaUs = parseSigned(text.trim());
  if (quotaUs === null) return failed(`not a quota: ${quote(text)}`);
  return quotaUs < 0n ? none("the quota is negative: no limit") : found(quotaUs);
}

/** v1 `cpu.cfs_period_us`, in microseconds. */
export function parseCfsPeriod(text: string): Outcome<bigint> {
  const periodUs = parseUnsigned(text.trim());
  return periodUs === null || periodUs === 0n ? failed(`not a period: ${quote(text)}`) : found(periodUs);
}

/** CPU time that the cgroup and all below it have used, in nanoseconds. A counter since the cgroup was made. */
export function readCpuUsageNs(cgroup: Cgroup): Outcome<bigint> {
  const directory = cgroup.cpuUsageDirectory;
  if (directory === null) return none("the cpuacct hierarchy has no such cgroup of the daemon's");
  return cgroup.version === 2
    ? readAndParse({ path: join(directory, "cpu.stat"), bytesMax: VALUE_BYTES_MAX }, parseCpuStat)
    : readAndParse({ path: join(directory, "cpuacct.usage"), bytesMax: VALUE_BYTES_MAX }, parseCpuacctUsage);
}

/** v2 `cpu.stat`: the line `usage_usec`, as nanoseconds. Source: Documentation/admin-guide/cgroup-v2.rst. */
export function parseCpuStat(text: string): Outcome<bigint> {
  const line = /^usage_usec.*$/m.exec(text)?.[0];
  if (line === undefined) return failed("no usage_usec line");
  const usageUs = parseUnsigned(line.slice("usage_usec ".length));
  return usageUs === null ? failed(`not a usage line: ${quote(line)}`) : found(usageUs * NANOSECONDS_PER_MICROSECOND);
}

/** v1 `cpuacct.usage`, in nanoseconds. Source: Documentation/admin-guide/cgroup-v1/cpuacct.rst. */
export function parseCpuacctUsage(text: string): Outcome<bigint> {
  const usageNs = parseUnsigned(text.trim());
  return usageNs === null ? failed(`not a usage: ${quote(text)}`) : found(usageNs);
}
