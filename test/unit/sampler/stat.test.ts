import { describe, expect, test } from "vitest";
import { failed, found } from "../../../src/actors/sampler/outcome.ts";
import { parseStat, readStat } from "../../../src/actors/sampler/stat.ts";
import { fixture, KernelTree } from "./kernel-tree.ts";

const LATER = {
  user: 6341322n,
  nice: 1200n,
  system: 2923511n,
  idle: 71191830n,
  iowait: 49250n,
  irq: 10n,
  softirq: 72130n,
  steal: 56030n,
};

test("the aggregate line of a real file, guest fields left out", () => {
  const tree = new KernelTree("v2");
  tree.swapIn("proc/stat", "later");
  expect(readStat(tree.init("cpu"))).toEqual(found(LATER));
});

describe("siblings of the good file", () => {
  test.each(["zero-first", "truncated", "long-intr"])("stat.%s gives the same aggregate", (suffix) => {
    const tree = new KernelTree("v2");
    tree.swapIn("proc/stat", suffix);
    expect(readStat(tree.init("cpu"))).toEqual(found(LATER));
  });

  test.each([
    ["three-fields", 'stat: not a cpu line: "cpu  6341022 1200 2923411"'],
    ["not-a-number", 'stat: not a cpu line: "cpu  6341x22 1200 2923511 71191830 49250 10 72130 56030 160 0"'],
    ["no-aggregate", "stat: no aggregate cpu line"],
  ])("stat.%s fails", (suffix, why) => {
    const tree = new KernelTree("v2");
    tree.swapIn("proc/stat", suffix);
    expect(readStat(tree.init("cpu"))).toEqual(failed(why));
  });

  test("the long intr line is as long as a large host's", () => {
    expect(
      Math.max(
        ...fixture("v2", "proc/stat.long-intr")
          .split("\n")
          .map((line) => line.length),
      ),
    ).toBeGreaterThan(100_000);
  });
});

test("a stat longer than its cap is read for its head", () => {
  const tree = new KernelTree("v2");
  tree.write("proc/stat", `${fixture("v2", "proc/stat.later")}intr ${"0 ".repeat(400_000)}\n`);
  expect(readStat(tree.init("cpu"))).toEqual(found(LATER));
});

test("a missing file fails", () => {
  const tree = new KernelTree("v2");
  tree.remove("proc/stat");
  expect(readStat(tree.init("cpu"))).toEqual(failed("stat: open ENOENT"));
});

describe("lines", () => {
  const zero = { user: 0n, nice: 0n, system: 0n, idle: 0n, iowait: 0n, irq: 0n, softirq: 0n, steal: 0n };

  test("missing fields after the first four are 0", () => {
    expect(parseStat("cpu  1 2 3 4\n")).toEqual(found({ ...zero, user: 1n, nice: 2n, system: 3n, idle: 4n }));
    expect(parseStat("cpu  1 2 3 4 5 6")).toEqual(
      found({ ...zero, user: 1n, nice: 2n, system: 3n, idle: 4n, iowait: 5n, irq: 6n }),
    );
  });

  test("counters stay exact beyond 2^53", () => {
    expect(parseStat("cpu 18446744073709551615 0 0 9007199254740993\n")).toEqual(
      found({ ...zero, user: 18446744073709551615n, idle: 9007199254740993n }),
    );
  });

  test("an all-zero aggregate counts only where there is no other", () => {
    expect(parseStat("cpu  0 0 0 0\ncpu0 0 0 0 0\ncpu  0 0 0 7\n")).toEqual(found({ ...zero, idle: 7n }));
    expect(parseStat("cpu  0 0 0 0\ncpu0 1 1 1 1\n")).toEqual(found(zero));
  });

  test.each(["", "cpu0 1 2 3 4\n", "cpux 1 2 3 4\n", "intr cpu  1 2 3 4\n"])("no aggregate in %j", (text) => {
    expect(parseStat(text)).toEqual(failed("no aggregate cpu line"));
  });

  test.each([
    "cpu  1 2 3",
    "cpu  1 2 3 -4",
    "cpu  1 2 3 4.5",
    "cpu  1 2 3 0x4",
    "cpu  1 2 3 4 x",
    `cpu  1 2 3 ${"9".repeat(21)}`,
  ])("malformed: %j", (line) => {
    expect(parseStat(`${line}\n`)).toEqual(failed(`not a cpu line: ${JSON.stringify(line)}`));
  });

  test("a long malformed line is quoted in part", () => {
    const outcome = parseStat(`cpu ${"x".repeat(100_000)}\n`);
    expect(outcome).toEqual(failed(`not a cpu line: "cpu ${"x".repeat(76)}…"`));
  });
});
