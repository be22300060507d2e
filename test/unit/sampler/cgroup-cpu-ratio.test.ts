import { describe, expect, test } from "vitest";
import {
  parseCfsPeriod,
  parseCfsQuota,
  parseCpuacctUsage,
  parseCpuMax,
  parseCpuStat,
} from "../../../src/actors/sampler/cgroup-cpu.ts";
import { type CgroupCpuSample, stepCgroupCpu } from "../../../src/actors/sampler/cgroup-cpu-ratio.ts";
import { failed, found, none } from "../../../src/actors/sampler/outcome.ts";

const SECOND_NS = 1_000_000_000n;
// Two cores.
const before: CgroupCpuSample = { quotaUs: 200_000n, periodUs: 100_000n, usageNs: 10n * SECOND_NS, atMs: 1_000 };
const reading = (change: Partial<CgroupCpuSample>) => found({ ...before, atMs: 6_000, ...change });

describe("the step of one cgroup", () => {
  test("Δusage / (Δt × quota cores)", () => {
    expect(stepCgroupCpu(before, reading({ usageNs: 15n * SECOND_NS })).ratio).toEqual(found(0.5));
    expect(stepCgroupCpu(before, reading({ usageNs: 11n * SECOND_NS })).ratio).toEqual(found(0.1));
  });

  test("no usage is 0, more than the quota is 1", () => {
    expect(stepCgroupCpu(before, reading({})).ratio).toEqual(found(0));
    expect(stepCgroupCpu(before, reading({ usageNs: 25n * SECOND_NS })).ratio).toEqual(found(1));
  });

  test("a usage beyond 2^53 is exact", () => {
    const large = { ...before, usageNs: 18_446_744_000_000_000_001n };
    const next = reading({ usageNs: 18_446_744_005_000_000_001n });
    expect(stepCgroupCpu(large, next).ratio).toEqual(found(0.5));
  });

  test.each([
    ["no baseline", null, {}, "no sample to compare with yet"],
    ["a changed quota", before, { quotaUs: 100_000n }, "the quota has changed"],
    ["a changed period", before, { periodUs: 50_000n }, "the quota has changed"],
    ["a fallen usage", before, { usageNs: 9n * SECOND_NS }, "the usage has fallen"],
    ["no time between", before, { atMs: 1_000 }, "no time has passed since the last sample"],
    ["time running backwards", before, { atMs: 999 }, "no time has passed since the last sample"],
    ["a quota of 0", { ...before, quotaUs: 0n }, { quotaUs: 0n }, "the quota is 0"],
  ])("%s: no ratio this time, a new baseline", (_, baseline, change, why) => {
    const next = reading(change);
    expect(stepCgroupCpu(baseline, next)).toEqual({ ratio: none(why), baseline: next.value });
  });

  test("no reading: no ratio and no baseline", () => {
    const missing = none("cpu.max: open ENOENT");
    expect(stepCgroupCpu(before, missing)).toEqual({ ratio: missing, baseline: null });
  });
});

describe("files", () => {
  test.each([
    ["200000 100000\n", found({ quotaUs: 200_000n, periodUs: 100_000n })],
    ["max 100000\n", none("the quota is max")],
    ["-1 100000\n", none("the quota is negative: no limit")],
    ["200000\n", failed('not a cpu.max: "200000\\n"')],
    ["200000 0\n", failed('not a cpu.max: "200000 0\\n"')],
    ["x 100000\n", failed('not a quota: "x"')],
    ["", failed('not a cpu.max: ""')],
  ])("cpu.max %j", (text, outcome) => {
    expect(parseCpuMax(text)).toEqual(outcome);
  });

  test.each([
    ["-1\n", none("the quota is negative: no limit")],
    ["250000\n", found(250_000n)],
    ["max\n", failed('not a quota: "max\\n"')],
  ])("cpu.cfs_quota_us %j", (text, outcome) => {
    expect(parseCfsQuota(text)).toEqual(outcome);
  });

  test("cpu.cfs_period_us", () => {
    expect(parseCfsPeriod("100000\n")).toEqual(found(100_000n));
    expect(parseCfsPeriod("0\n")).toEqual(failed('not a period: "0\\n"'));
  });

  test("cpu.stat: usage_usec, as nanoseconds, wherever the line stands", () => {
    expect(parseCpuStat("nr_periods 5\nusage_usec 9007199254740993\nuser_usec 1\n")).toEqual(
      found(9_007_199_254_740_993_000n),
    );
    expect(parseCpuStat("user_usec 1\n")).toEqual(failed("no usage_usec line"));
    expect(parseCpuStat("usage_usec many\n")).toEqual(failed('not a usage line: "usage_usec many"'));
  });

  test("cpuacct.usage", () => {
    expect(parseCpuacctUsage("99356075500\n")).toEqual(found(99_356_075_500n));
    expect(parseCpuacctUsage("\n")).toEqual(failed('not a usage: "\\n"'));
  });
});
