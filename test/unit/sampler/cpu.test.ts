import { describe, expect, test } from "vitest";
import { createCpuSampler } from "../../../src/actors/sampler/cpu.ts";
import { KernelTree, StepClock, type TreeName } from "./kernel-tree.ts";

const OWN_V2 = "sys/fs/cgroup/system.slice/evenkeel.service";
const IDLE = "cpu  0 0 0 100 0 0 0 0\n";

/** A host that is idle from sample to sample, so that cgroups decide, sampled every 5 s. */
function idleHost(name: TreeName, sandboxCgroup: string | null = null) {
  const tree = new KernelTree(name);
  const clock = new StepClock();
  const sampler = createCpuSampler(tree.init("cpu", { sandboxCgroup }), { clock });
  let tick = 0;
  const sample = () => {
    tick += 1;
    tree.write("proc/stat", IDLE.replace("100", `${100 * tick}`));
    const observation = sampler.sample(tick);
    clock.nowMs += 5_000;
    return observation;
  };
  const ratioOf = (directory: string, observation: ReturnType<typeof sample>) =>
    observation.readings.find(({ from }) => from === tree.at(directory));
  return { tree, clock, sample, ratioOf };
}

const cpuStat = (usageUs: number) => `usage_usec ${usageUs}\nuser_usec 1\nsystem_usec 1\n`;

describe("the host", () => {
  test("null at first, then the busy fraction of real files", () => {
    const tree = new KernelTree("no-limits");
    const sampler = createCpuSampler(tree.init("cpu"), { clock: new StepClock() });
    expect(sampler.sample(1)).toMatchObject({ source: "cpu", tick: 1, ratio: null, failed: false });
    tree.swapIn("proc/stat", "later");
    expect(sampler.sample(2)).toMatchObject({ tick: 2, ratio: 0.45, failed: false });
  });

  test("a missing file in between costs two samples, and is a failure", () => {
    const tree = new KernelTree("no-limits");
    const sampler = createCpuSampler(tree.init("cpu"), { clock: new StepClock() });
    const at = (text: string | null) => {
      if (text === null) tree.remove("proc/stat");
      else tree.write("proc/stat", text);
      const { ratio, failed } = sampler.sample(1);
      return [ratio, failed];
    };
    expect(at("cpu  0 0 0 1\n")).toEqual([null, false]);
    expect(at("cpu  1 0 0 2\n")).toEqual([0.5, false]);
    expect(at(null)).toEqual([null, true]);
    expect(at("cpu  1 0 0 3\n")).toEqual([null, false]);
    expect(at("cpu  1 0 0 4\n")).toEqual([0, false]);
  });
});

describe("quotas", () => {
  test("v2: used time of the own quota, and the maximum of all", () => {
    const { tree, sample, ratioOf } = idleHost("v2", "sandboxes.slice");
    expect(sample().ratio).toBeNull();
    // 2.5 cores for 5 s are 12.5 s; 16 cores are 80 s.
    tree.write(`${OWN_V2}/cpu.stat`, cpuStat(5_000_000 + 2_500_000));
    tree.write("sys/fs/cgroup/sandboxes.slice/cpu.stat", cpuStat(7_000_000_000 + 60_000_000));
    const second = sample();
    expect(second.ratio).toBe(0.75);
    expect(ratioOf(OWN_V2, second)?.ratio).toBe(0.2);
    expect(ratioOf("sys/fs/cgroup/system.slice", second)).toMatchObject({
      ratio: null,
      why: "cpu.max: the quota is max",
    });
    expect(ratioOf("sys/fs/cgroup", second)).toMatchObject({ ratio: null, why: "cpu.max: open ENOENT" });
    expect(second.failed).toBe(false);
  });

  test.each([
    ["v1", "sys/fs/cgroup/cpuacct/system.slice/evenkeel.service", 0.2],
    ["v1-comounted", "sys/fs/cgroup/cpu,cpuacct/docker/4f1c", 2.5 / 7.5],
    ["nested-v1", "sys/fs/cgroup/cpu,cpuacct", 2.5 / 7.5],
  ] as const)("v1 in %s: nanoseconds of cpuacct.usage", (name, acct, ratio) => {
    const { tree, sample } = idleHost(name);
    expect(sample().ratio).toBeNull();
    tree.write(`${acct}/cpuacct.usage`, `${5_000_000_000 + 2_500_000_000}\n`);
    expect(sample().ratio).toBeCloseTo(ratio, 12);
  });

  test("v1 with differing memberships: the own cgroup has no ratio", () => {
    const { tree, sample, ratioOf } = idleHost("v1");
    const memberships = tree.read("proc/self/cgroup");
    tree.write("proc/self/cgroup", memberships.replace("cpuacct:/system.slice/evenkeel.service", "cpuacct:/"));
    sample();
    const reading = ratioOf("sys/fs/cgroup/cpu/system.slice/evenkeel.service", sample());
    expect(reading?.ratio).toBeNull();
    expect(reading?.why).toContain("cpuacct");
  });

  test("hybrid: the quota of the v2 hierarchy, where v1 has no cpu", () => {
    const { tree, sample } = idleHost("hybrid-split");
    sample();
    tree.write("sys/fs/cgroup/unified/system.slice/evenkeel.service/cpu.stat", cpuStat(5_000_000 + 1_000_000));
    expect(sample().ratio).toBe(0.4);
  });

  test("a quota that changes gives no ratio once, then the new one", () => {
    const { tree, sample, ratioOf } = idleHost("v2");
    const own = () => ratioOf(OWN_V2, sample());
    own();
    expect(own()?.ratio).toBe(0);
    tree.write(`${OWN_V2}/cpu.max`, "100000 100000\n");
    tree.write(`${OWN_V2}/cpu.stat`, cpuStat(7_500_000));
    expect(own()).toMatchObject({ ratio: null, why: "the quota has changed" });
    tree.write(`${OWN_V2}/cpu.stat`, cpuStat(10_000_000));
    expect(own()?.ratio).toBe(0.5);
  });

  test("a quota that goes to max and comes back starts anew", () => {
    const { tree, sample, ratioOf } = idleHost("v2");
    const own = () => ratioOf(OWN_V2, sample())?.why ?? null;
    own();
    expect(own()).toBeNull();
    tree.write(`${OWN_V2}/cpu.max`, "max 100000\n");
    expect(own()).toBe("cpu.max: the quota is max");
    tree.write(`${OWN_V2}/cpu.max`, "250000 100000\n");
    expect(own()).toBe("no sample to compare with yet");
    expect(own()).toBeNull();
  });

  test("a cgroup made anew at its path: the usage has fallen, then counts again", () => {
    const { tree, sample, ratioOf } = idleHost("v2");
    const own = () => ratioOf(OWN_V2, sample());
    own();
    tree.write(`${OWN_V2}/cpu.stat`, cpuStat(100));
    expect(own()).toMatchObject({ ratio: null, why: "the usage has fallen" });
    tree.write(`${OWN_V2}/cpu.stat`, cpuStat(100 + 12_500_000));
    expect(own()?.ratio).toBe(1);
  });

  test("a cgroup that vanishes after its quota was read loses its own ratio only", () => {
    const { tree, sample, ratioOf } = idleHost("v2", "sandboxes.slice");
    sample();
    tree.remove(`${OWN_V2}/cpu.stat`);
    const second = sample();
    expect(ratioOf(OWN_V2, second)).toMatchObject({ ratio: null, why: "cpu.stat: open ENOENT" });
    expect(ratioOf("sys/fs/cgroup/sandboxes.slice", second)?.ratio).toBe(0);
    expect(second).toMatchObject({ ratio: 0, failed: false });
  });

  test("a malformed quota fails that cgroup and no other", () => {
    const { tree, sample, ratioOf } = idleHost("v2", "sandboxes.slice");
    sample();
    tree.write(`${OWN_V2}/cpu.max`, "many 100000\n");
    const second = sample();
    expect(ratioOf(OWN_V2, second)).toMatchObject({ ratio: null, why: 'cpu.max: not a quota: "many"' });
    expect(second).toMatchObject({ ratio: 0, failed: true });
  });

  test("baselines are per path: after a move, the new cgroup starts anew", () => {
    const { tree, sample } = idleHost("v2");
    sample();
    sample();
    tree.write("proc/self/cgroup", "0::/sandboxes.slice\n");
    const moved = sample();
    expect(moved.readings.map(({ why }) => why)).toEqual([
      null,
      "no sample to compare with yet",
      "cpu.max: open ENOENT",
    ]);
  });

  test("without time between two samples there is no quota ratio", () => {
    const { clock, sample, ratioOf } = idleHost("v2");
    sample();
    clock.nowMs -= 5_000;
    expect(ratioOf(OWN_V2, sample())).toMatchObject({ ratio: null, why: "no time has passed since the last sample" });
  });
});

test("the duration is measured with the clock", () => {
  const tree = new KernelTree("v2");
  const clock = new StepClock();
  clock.monotonicMs = () => {
    clock.nowMs += 2;
    return clock.nowMs;
  };
  // At the start, at the one finite quota, and at the end.
  expect(createCpuSampler(tree.init("cpu"), { clock }).sample(1).durationMs).toBe(4);
});
