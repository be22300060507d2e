import fc from "fast-check";
import { expect, test } from "vitest";
import { type CgroupCpuSample, stepCgroupCpu } from "../../../src/actors/sampler/cgroup-cpu-ratio.ts";
import { occupancy } from "../../../src/actors/sampler/disk.ts";
import { stepHostCpu } from "../../../src/actors/sampler/host-cpu-ratio.ts";
import { found, type Outcome } from "../../../src/actors/sampler/outcome.ts";
import { overcommittedBytes } from "../../../src/actors/sampler/overcommit.ts";
import { usageRatio } from "../../../src/actors/sampler/ratio.ts";
import { CPU_FIELDS, type CpuTimes } from "../../../src/actors/sampler/stat.ts";

const RUNS = { seed: 61_803, numRuns: 1_000 };

const word = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const count = fc.oneof(word, fc.bigInt({ min: 0n, max: 1000n }));

function expectRatioOrNothing(outcome: Outcome<number>): void {
  if (outcome.kind !== "found") return;
  expect(outcome.value).toBeGreaterThanOrEqual(0);
  expect(outcome.value).toBeLessThanOrEqual(1);
}

const cpuTimes: fc.Arbitrary<CpuTimes> = fc.record({
  user: count,
  nice: count,
  system: count,
  idle: count,
  iowait: count,
  irq: count,
  softirq: count,
  steal: count,
});

test("the host's CPU ratio is nothing or within [0, 1], and the newer sample is always the baseline", () => {
  fc.assert(
    fc.property(cpuTimes, cpuTimes, (before, after) => {
      const step = stepHostCpu(before, found(after));
      expectRatioOrNothing(step.ratio);
      expect(step.baseline).toBe(after);
      expect(step.ratio.kind === "found").toBe(CPU_FIELDS.some((field) => after[field] > before[field]));
    }),
    RUNS,
  );
});

test("while no field falls, the ratio is that of the plain differences", () => {
  const growth = fc.array(fc.nat(10_000), { minLength: 8, maxLength: 8 });
  fc.assert(
    fc.property(cpuTimes, growth, (before, grown) => {
      const after = { ...before };
      for (const [index, field] of CPU_FIELDS.entries()) after[field] += BigInt(grown[index] ?? 0);
      const total = grown.reduce((sum, ticks) => sum + ticks, 0);
      fc.pre(total > 0);
      const busy = total - (grown[3] ?? 0) - (grown[4] ?? 0);
      expect(stepHostCpu(before, found(after)).ratio).toEqual(found(busy / total));
    }),
    RUNS,
  );
});

const cgroupSample: fc.Arbitrary<CgroupCpuSample> = fc.record({
  quotaUs: fc.oneof(fc.constant(100_000n), count),
  periodUs: fc.oneof(fc.constant(100_000n), fc.bigInt({ min: 1n, max: 2n ** 64n - 1n })),
  usageNs: count,
  atMs: fc.double({ min: 0, max: 1e12, noNaN: true }),
});

test("a quota's ratio is nothing or within [0, 1]", () => {
  const usage = fc.record({ usageNs: count, atMs: cgroupSample.map(({ atMs }) => atMs) });
  fc.assert(
    fc.property(cgroupSample, fc.oneof(cgroupSample, usage), (before, change) => {
      const after = { ...before, ...change };
      const step = stepCgroupCpu(before, found(after));
      expectRatioOrNothing(step.ratio);
      expect(step.baseline).toBe(after);
    }),
    RUNS,
  );
});

test("a usage of a limit is nothing or within [0, 1]", () => {
  const signed = fc.oneof(count, fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }));
  fc.assert(
    fc.property(signed, signed, (usage, limit) => {
      const outcome = usageRatio(usage, limit);
      expectRatioOrNothing(outcome);
      expect(outcome.kind === "found").toBe(usage >= 0n && limit > 0n);
    }),
    RUNS,
  );
});

test("an occupancy is nothing or within [0, 1]", () => {
  fc.assert(
    fc.property(count, count, (blocks, availableBlocks) => {
      const outcome = occupancy({ blocks, availableBlocks, fragmentBytes: 4096n });
      expectRatioOrNothing(outcome);
      expect(outcome.kind === "found").toBe(blocks > 0n && availableBlocks <= blocks);
    }),
    RUNS,
  );
});

test("overcommit is exact for the decimals that people write", () => {
  fc.assert(
    fc.property(word, fc.integer({ min: 1000, max: 100_000 }), (bytes, thousandths) => {
      expect(overcommittedBytes(bytes, thousandths / 1000)).toBe((bytes * BigInt(thousandths)) / 1000n);
    }),
    RUNS,
  );
});
