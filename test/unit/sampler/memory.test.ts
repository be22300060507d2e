import { describe, expect, test } from "vitest";
import { createMemorySampler, hostMemoryRatio } from "../../../src/actors/sampler/memory.ts";
import { failed, found, none } from "../../../src/actors/sampler/outcome.ts";
import { KernelTree, StepClock } from "./kernel-tree.ts";

const OWN_V2 = "sys/fs/cgroup/system.slice/evenkeel.service";

const sample = (tree: KernelTree, sandboxCgroup: string | null = null) =>
  createMemorySampler(tree.init("memory", { sandboxCgroup }), { clock: new StepClock() }).sample(1);

const readingOf = (tree: KernelTree, path: string, sandboxCgroup: string | null = null) =>
  sample(tree, sandboxCgroup).readings.find(({ from }) => from === tree.at(path));

describe("the host", () => {
  test("(MemTotal − MemAvailable) / MemTotal", () => {
    expect(hostMemoryRatio({ totalBytes: 1000n, availableBytes: found(250n) })).toEqual(found(0.75));
    expect(hostMemoryRatio({ totalBytes: 1000n, availableBytes: found(1000n) })).toEqual(found(0));
    expect(hostMemoryRatio({ totalBytes: 1000n, availableBytes: found(0n) })).toEqual(found(1));
  });

  test("without MemAvailable there is no ratio: MemFree is never taken instead", () => {
    expect(hostMemoryRatio({ totalBytes: 1000n, availableBytes: none("no MemAvailable line") })).toEqual(
      none("no MemAvailable line"),
    );
    const tree = new KernelTree("no-limits");
    tree.write("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 400 kB\n");
    expect(sample(tree)).toMatchObject({ ratio: null, failed: false });
  });

  test("MemAvailable above MemTotal is invalid; cgroups still count", () => {
    expect(hostMemoryRatio({ totalBytes: 1000n, availableBytes: found(1001n) })).toEqual(
      failed("MemAvailable is 1001 bytes, more than MemTotal, 1000 bytes"),
    );
    const tree = new KernelTree("v2");
    tree.swapIn("proc/meminfo", "available-above-total");
    expect(sample(tree)).toMatchObject({ ratio: 0.5, failed: true });
  });

  test("MemTotal of 0 has no ratio", () => {
    expect(hostMemoryRatio({ totalBytes: 0n, availableBytes: found(0n) })).toEqual(none("the limit is 0"));
  });

  test("a host with every page available is at 0, not null", () => {
    expect(sample(new KernelTree("no-limits"))).toMatchObject({ ratio: 0, failed: false });
  });

  test("a missing meminfo fails, cgroups still count", () => {
    const tree = new KernelTree("v2");
    tree.remove("proc/meminfo");
    expect(sample(tree)).toMatchObject({ ratio: 0.5, failed: true });
  });
});

describe("cgroups", () => {
  test("v2: usage and limit of the same cgroup, never a child's usage against its ancestor's limit", () => {
    const tree = new KernelTree("v2");
    expect(sample(tree, "sandboxes.slice").ratio).toBe(0.75);
    expect(readingOf(tree, OWN_V2)?.ratio).toBe(0.25);
    expect(readingOf(tree, "sys/fs/cgroup/system.slice")?.ratio).toBe(0.5);
    expect(readingOf(tree, "sys/fs/cgroup")).toMatchObject({ ratio: null, why: "memory.max: open ENOENT" });
  });

  test("a limit on the ancestor only: its own usage counts against it", () => {
    const tree = new KernelTree("v2");
    tree.write(`${OWN_V2}/memory.max`, "max\n");
    expect(readingOf(tree, OWN_V2)).toMatchObject({ ratio: null, why: "memory.max: the limit is max" });
    expect(readingOf(tree, "sys/fs/cgroup/system.slice")?.ratio).toBe(0.5);
  });

  test("nothing below the sandboxes' cgroup is looked at", () => {
    const froms = sample(new KernelTree("v2"), "sandboxes.slice").readings.map(({ from }) => from);
    expect(froms.filter((from) => from.includes("sandbox-0001"))).toEqual([]);
  });

  test("v1: a limit of 2^60 or more is none, one byte less is one", () => {
    const tree = new KernelTree("v1");
    const own = "sys/fs/cgroup/memory/system.slice/evenkeel.service";
    expect(readingOf(tree, own)?.ratio).toBe(0.25);
    tree.write(`${own}/memory.limit_in_bytes`, "1152921504606846976\n");
    expect(readingOf(tree, own)).toMatchObject({
      ratio: null,
      why: "memory.limit_in_bytes: 2^60 bytes or more is no limit",
    });
    tree.write(`${own}/memory.limit_in_bytes`, "1152921504606846975\n");
    tree.write(`${own}/memory.usage_in_bytes`, "576460752303423488\n");
    expect(readingOf(tree, own)?.ratio).toBe(0.5);
    expect(readingOf(tree, "sys/fs/cgroup/memory")?.ratio).toBeNull();
  });

  test("a limit of 0 has no ratio and is no failure", () => {
    const tree = new KernelTree("v2");
    tree.write(`${OWN_V2}/memory.max`, "0\n");
    expect(readingOf(tree, OWN_V2)).toMatchObject({ ratio: null, why: "the limit is 0" });
    expect(sample(tree).failed).toBe(false);
  });

  test("usage above the limit is clamped to 1", () => {
    const tree = new KernelTree("v2");
    tree.write(`${OWN_V2}/memory.current`, "999999999999\n");
    expect(sample(tree).ratio).toBe(1);
  });

  test("a cgroup that vanishes between the two reads loses its own ratio only", () => {
    const tree = new KernelTree("v2");
    tree.remove(`${OWN_V2}/memory.current`);
    expect(readingOf(tree, OWN_V2)).toMatchObject({ ratio: null, why: "memory.current: open ENOENT" });
    expect(sample(tree)).toMatchObject({ ratio: 0.5, failed: false });
  });

  test("a malformed usage is quoted, and fails that cgroup only", () => {
    const tree = new KernelTree("v2");
    tree.write(`${OWN_V2}/memory.current`, "12 kB\n");
    expect(readingOf(tree, OWN_V2)).toMatchObject({ why: 'memory.current: not a count: "12 kB\\n"' });
    expect(sample(tree)).toMatchObject({ ratio: 0.5, failed: true });
  });

  test("mounts are looked up anew with every sample", () => {
    const tree = new KernelTree("v2");
    const sampler = createMemorySampler(tree.init("memory"), { clock: new StepClock() });
    expect(sampler.sample(1).readings).toHaveLength(4);
    tree.write("proc/self/cgroup", "0::/sandboxes.slice\n");
    expect(sampler.sample(2)).toMatchObject({ tick: 2, ratio: 0.75 });
    tree.write("proc/self/mountinfo", "");
    expect(sampler.sample(3).readings).toHaveLength(1);
  });

  test("cgroup mounts outside /sys are read where they stand", () => {
    const tree = new KernelTree("v2");
    const line = `30 23 0:26 / ${tree.at("sys/fs/cgroup")} rw - cgroup2 cgroup2 rw\n`;
    tree.write("proc/self/mountinfo", line);
    expect(readingOf(tree, OWN_V2)?.ratio).toBe(0.25);
  });
});
