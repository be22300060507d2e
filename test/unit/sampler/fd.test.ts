import { describe, expect, test } from "vitest";
import { createFdSampler, fileHandleRatio } from "../../../src/actors/sampler/fd.ts";
import { failed, found, none } from "../../../src/actors/sampler/outcome.ts";
import { KernelTree, StepClock } from "./kernel-tree.ts";

const sample = (tree: KernelTree) => createFdSampler(tree.init("fd"), { clock: new StepClock() }).sample(1);

describe("system handles", () => {
  test("free handles are not used", () => {
    expect(fileHandleRatio({ allocated: 3000n, free: 500n, maximum: 10_000n })).toEqual(found(0.25));
  });

  test("the kernel's default maximum is a valid, nearly-zero ratio", () => {
    const outcome = fileHandleRatio({ allocated: 4096n, free: 0n, maximum: 9223372036854775807n });
    expect(outcome).toEqual(found(4096 / 2 ** 63));
  });

  test("no handle in use is 0, above the maximum 1, a maximum of 0 none, more free than allocated fails", () => {
    expect(fileHandleRatio({ allocated: 7n, free: 7n, maximum: 9n })).toEqual(found(0));
    expect(fileHandleRatio({ allocated: 11n, free: 0n, maximum: 9n })).toEqual(found(1));
    expect(fileHandleRatio({ allocated: 7n, free: 0n, maximum: 0n })).toEqual(none("the limit is 0"));
    expect(fileHandleRatio({ allocated: 7n, free: 8n, maximum: 9n })).toEqual(failed("the usage is negative: -1"));
  });
});

describe("the metric", () => {
  test("is the maximum of the system's and the daemon's own", () => {
    const v1 = sample(new KernelTree("v1"));
    expect(v1.readings.map(({ ratio }) => ratio)).toEqual([0.25, 8 / 1024]);
    expect(v1).toMatchObject({ source: "fd", ratio: 0.25, failed: false });
    const all = sample(new KernelTree("all-limits"));
    expect(all.readings.map(({ ratio }) => ratio)).toEqual([0.2, 0.3]);
    expect(all.ratio).toBe(0.3);
  });

  test("an unlimited soft limit supplies no ratio, and is no failure", () => {
    const tree = new KernelTree("v2");
    tree.swapIn("proc/self/limits", "unlimited");
    const observation = sample(tree);
    expect(observation.readings[1]).toMatchObject({ ratio: null, why: "limits: the soft limit is unlimited" });
    expect(observation).toMatchObject({ ratio: 4096 / 2 ** 63, failed: false });
  });

  test("one broken source leaves the other", () => {
    const tree = new KernelTree("v2");
    tree.swapIn("proc/sys/fs/file-nr", "two-fields");
    expect(sample(tree)).toMatchObject({ ratio: 12 / 1024, failed: true });
    tree.swapIn("proc/self/limits", "malformed");
    expect(sample(tree)).toMatchObject({ ratio: null, failed: true });
  });

  test("cgroups are not asked", () => {
    const tree = new KernelTree("v1");
    tree.remove("proc/self/cgroup");
    tree.remove("proc/self/mountinfo");
    expect(sample(tree)).toMatchObject({ ratio: 0.25, failed: false });
  });
});
