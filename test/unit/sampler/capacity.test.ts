import { describe, expect, test } from "vitest";
import { createCapacitySampler, leastBound } from "../../../src/actors/sampler/capacity.ts";
import { failed, found, none } from "../../../src/actors/sampler/outcome.ts";
import { KernelTree, StepClock, type TreeName } from "./kernel-tree.ts";

const GIB = 2n ** 30n;
const OWN_V2 = "sys/fs/cgroup/system.slice/evenkeel.service";
const ONLINE = "sys/devices/system/cpu/online";

const sample = (tree: KernelTree, sandboxCgroup: string | null = null) =>
  createCapacitySampler(tree.init("capacity", { sandboxCgroup }), { clock: new StepClock() }).sample(1);

test.each([
  // The own quota; the own limit.
  ["v2", 2500, GIB / 2n],
  ["v1", 2500, GIB / 2n],
  ["v1-comounted", 1500, 2n * GIB],
  ["hybrid", 4000, GIB],
  ["hybrid-split", 500, GIB],
  ["nested", 3000, 2n * GIB],
  // The memory limit of the cgroup below the mount's root.
  ["nested-v1", 1500, GIB],
  // What is online, and MemTotal.
  ["no-limits", 4000, 16_395_348n * 1024n],
  // The ancestor's quota of 32.5 cores is less than the own of 33.3, and than the own cpuset of 40 CPUs.
  ["all-limits", 32_500, 96n * GIB],
] satisfies readonly (readonly [TreeName, number, bigint])[])("%s: %i millicores, %i bytes", (name, cpu, memory) => {
  expect(sample(new KernelTree(name))).toMatchObject({
    type: "observed",
    source: "capacity",
    cpuMillicores: cpu,
    memoryBytes: memory,
    failed: false,
  });
});

describe("CPU", () => {
  test("the effective cpuset where it is the least, v1 and v2", () => {
    const v2 = new KernelTree("v2");
    v2.write(`${OWN_V2}/cpu.max`, "max 100000\n");
    expect(sample(v2).cpuMillicores).toBe(16_000);
    v2.write(`${OWN_V2}/cpuset.cpus.effective`, "0-3,2-5,5\n");
    expect(sample(v2).cpuMillicores).toBe(6000);
    const v1 = new KernelTree("v1-comounted");
    v1.write("sys/fs/cgroup/cpu,cpuacct/docker/4f1c/cpu.cfs_quota_us", "-1\n");
    expect(sample(v1).cpuMillicores).toBe(5000);
  });

  test("the configured cpuset does not count", () => {
    const tree = new KernelTree("v2");
    tree.write(`${OWN_V2}/cpuset.cpus`, "0\n");
    expect(sample(tree).cpuMillicores).toBe(2500);
  });

  test("an empty cpuset limits nothing", () => {
    const tree = new KernelTree("no-limits");
    tree.write(`${OWN_V2}/cpuset.cpus.effective`, "\n");
    expect(sample(tree)).toMatchObject({ cpuMillicores: 4000, failed: false });
  });

  test("CPUs that go offline lower it", () => {
    const tree = new KernelTree("v2");
    tree.write(ONLINE, "0\n");
    expect(sample(tree).cpuMillicores).toBe(1000);
  });

  test("a quota is rounded down to millicores", () => {
    const tree = new KernelTree("v2");
    tree.write(`${OWN_V2}/cpu.max`, "33399 33400\n");
    expect(sample(tree).cpuMillicores).toBe(999);
    tree.write(`${OWN_V2}/cpu.max`, "18446744073709551615 100000\n");
    expect(sample(tree).cpuMillicores).toBe(16_000);
  });

  test("no online list: unknown, even though a quota is known", () => {
    const tree = new KernelTree("v2");
    tree.remove(ONLINE);
    expect(sample(tree)).toMatchObject({ cpuMillicores: null, memoryBytes: GIB / 2n, failed: true });
  });

  test("a malformed quota: unknown, memory is not touched by it", () => {
    const tree = new KernelTree("v2");
    tree.write(`${OWN_V2}/cpu.max`, "?\n");
    expect(sample(tree)).toMatchObject({ cpuMillicores: null, memoryBytes: GIB / 2n, failed: true });
  });
});

describe("memory", () => {
  test("MemTotal where no limit is less", () => {
    const tree = new KernelTree("v2");
    tree.write(`${OWN_V2}/memory.max`, "max\n");
    tree.write("sys/fs/cgroup/system.slice/memory.max", "99999999999999\n");
    expect(sample(tree).memoryBytes).toBe(67_386_888_192n);
  });

  test("a missing MemAvailable does not matter, a missing MemTotal does", () => {
    const tree = new KernelTree("no-limits");
    tree.write("proc/meminfo", "MemTotal: 1000 kB\n");
    expect(sample(tree)).toMatchObject({ memoryBytes: 1_024_000n, failed: false });
    tree.write("proc/meminfo", "MemFree: 1000 kB\n");
    expect(sample(tree)).toMatchObject({ cpuMillicores: 4000, memoryBytes: null, failed: true });
  });

  test("is exact beyond 2^53", () => {
    const tree = new KernelTree("no-limits");
    tree.write("proc/meminfo", "MemTotal: 9007199254740993 kB\n");
    expect(sample(tree).memoryBytes).toBe(9_223_372_036_854_776_832n);
  });

  test("a v1 limit of 2^60 or more is none", () => {
    const tree = new KernelTree("hybrid");
    tree.write("sys/fs/cgroup/memory/evenkeel/memory.limit_in_bytes", "9223372036854771712\n");
    expect(sample(tree).memoryBytes).toBe(24_684_084n * 1024n);
  });
});

describe("what capacity does not depend on", () => {
  test("the sandboxes' cgroup", () => {
    const tree = new KernelTree("all-limits");
    expect(sample(tree, "sandboxes.slice")).toEqual(sample(tree));
  });

  test("load: usage files are not read", () => {
    const tree = new KernelTree("all-limits");
    const before = sample(tree);
    tree.swapIn("proc/stat", "later");
    for (const file of ["cpu.stat", "memory.current", "pids.current"]) tree.write(`${OWN_V2}/${file}`, "99999999\n");
    tree.write("proc/meminfo", tree.read("proc/meminfo").replace(/MemAvailable: .*/, "MemAvailable:   1 kB"));
    expect(sample(tree)).toEqual(before);
    tree.remove(`${OWN_V2}/memory.current`);
    tree.remove(`${OWN_V2}/cpu.stat`);
    expect(sample(tree)).toEqual(before);
  });
});

test("readings say in words what each bound is", () => {
  const tree = new KernelTree("v2");
  const { readings } = sample(tree);
  expect(readings).toContainEqual({
    from: tree.at(OWN_V2),
    ratio: null,
    why: "capacity is at most 2500 millicores",
  });
  expect(readings).toContainEqual({ from: tree.at("sys/fs/cgroup"), ratio: null, why: "cpu.max: open ENOENT" });
});

test("the least of all bounds, unknown as soon as one is", () => {
  const bound = (outcome: Parameters<typeof leastBound>[0][number]["outcome"]) => ({ from: "f", outcome });
  expect(leastBound([bound(found(3n)), bound(none("max")), bound(found(2n))])).toBe(2n);
  expect(leastBound([bound(found(0n)), bound(found(2n))])).toBe(0n);
  expect(leastBound([bound(found(3n)), bound(failed("EIO"))])).toBeNull();
  expect(leastBound([])).toBeNull();
});
