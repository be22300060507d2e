import { describe, expect, test } from "vitest";
import { stepHostCpu } from "../../../src/actors/sampler/host-cpu-ratio.ts";
import { failed, found, none, type Outcome } from "../../../src/actors/sampler/outcome.ts";
import { type CpuTimes, parseStat } from "../../../src/actors/sampler/stat.ts";

/** The ratio of each sample of a series of cpu lines; null where there is none. */
function series(...lines: readonly string[]): readonly (number | null)[] {
  let baseline: CpuTimes | null = null;
  return lines.map((line) => {
    const step = stepHostCpu(baseline, parseStat(`cpu  ${line}\n`));
    baseline = step.baseline;
    return step.ratio.kind === "found" ? step.ratio.value : null;
  });
}

const times = (line: string): Outcome<CpuTimes> => parseStat(`cpu  ${line}\n`);
const baselineOf = (line: string): CpuTimes | null => stepHostCpu(null, times(line)).baseline;

test("the first sample has no ratio, the second is busy / total", () => {
  expect(series("100 0 100 800", "130 0 120 850")).toEqual([null, 0.5]);
});

test("idle and iowait are not busy; nice, irq, softirq and steal are", () => {
  expect(series("0 0 0 1 0 0 0 0", "0 0 0 51 25 0 0 25")).toEqual([null, 0.25]);
  expect(series("0 0 0 1 0 0 0 0", "10 20 30 101 100 40 50 50")).toEqual([null, 0.5]);
});

test("guest time is inside user and nice and not counted again", () => {
  expect(series("0 0 0 1 0 0 0 0 0 0", "40 10 0 51 0 0 0 0 40 10")).toEqual([null, 0.5]);
});

test("no consumption is 0, all consumption 1", () => {
  expect(series("1 1 1 1", "1 1 1 101", "101 1 1 101")).toEqual([null, 0, 1]);
});

test("iowait running backwards does not shrink the total", () => {
  expect(series("100 0 0 800 500", "150 0 0 850 300")).toEqual([null, 0.5]);
});

test("steal running backwards by hundreds of millions does not swallow the rest", () => {
  expect(series("100 0 0 800 0 0 0 400000000", "125 0 0 875 0 0 0 7")).toEqual([null, 0.25]);
});

test("idle that falls with an unplugged CPU counts as none", () => {
  expect(series("100 0 0 80000 0", "130 0 0 40000 10")).toEqual([null, 0.75]);
});

test("identical samples have no ratio, and the next one has", () => {
  expect(series("1 2 3 4", "1 2 3 4", "2 2 3 5")).toEqual([null, null, 0.5]);
});

test("a reset in which everything falls has no ratio; the fallen sample is the next baseline", () => {
  expect(series("500 100 200 9000", "5 1 2 90", "15 1 2 120")).toEqual([null, null, 0.25]);
  expect(series("500 100 200 9000", "0 0 0 0", "1 0 0 3")).toEqual([null, null, 0.25]);
});

test("one bad sample never sticks: the newer one is always the baseline", () => {
  expect(series("100 0 0 900", "900000 0 0 901", "150 0 0 951", "200 0 0 1001")).toEqual([
    null,
    expect.closeTo(1, 5),
    0,
    0.5,
  ]);
});

test("a failed sample costs two: itself and the next", () => {
  expect(series("100 0 0 900", "150 0 0 950", "garbage", "250 0 0 1050", "300 0 0 1100")).toEqual([
    null,
    0.5,
    null,
    null,
    0.5,
  ]);
});

test("differences are exact beyond 2^53", () => {
  expect(series("9007199254740993 0 0 18446744073709551000", "9007199254740994 0 0 18446744073709551003")).toEqual([
    null,
    0.25,
  ]);
});

test("a field that appears later counts from 0", () => {
  expect(series("10 0 0 10", "20 0 0 20 0 0 0 20")).toEqual([null, 0.75]);
});

describe("why", () => {
  test("there is no ratio", () => {
    expect(stepHostCpu(null, times("1 2 3 4")).ratio).toEqual(none("no sample to compare with yet"));
    expect(stepHostCpu(baselineOf("1 2 3 4"), times("1 2 3 4")).ratio).toEqual(
      none("no CPU time has passed since the last sample"),
    );
    expect(stepHostCpu(baselineOf("1 2 3 4"), failed("stat: open EACCES"))).toEqual({
      ratio: failed("stat: open EACCES"),
      baseline: null,
    });
  });

  test("a ratio has none", () => {
    expect(stepHostCpu(baselineOf("1 2 3 4"), times("2 2 3 4")).ratio).toEqual(found(1));
  });
});
