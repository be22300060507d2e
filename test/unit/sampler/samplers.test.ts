import { expect, test } from "vitest";
import { createSampler } from "../../../src/actors/sampler/samplers.ts";
import { METRICS, type Observation, SOURCES } from "../../../src/messages/sampling.ts";
import { systemRoots } from "../../../src/ports/kernel-roots.ts";
import { KernelTree, StepClock, type TreeName } from "./kernel-tree.ts";

type Ratios = readonly [cpu: number | null, memory: number | null, pid: number | null, fd: number | null];

/** Every metric but disk: sampled twice, 1000 ticks and 5 s apart, cgroups' CPU usage unchanged. */
test.each([
  ["v1", "sandboxes", [0.45, 0.75, 0.5, 0.25]],
  ["v1-comounted", null, [0.45, 0.5, 0.25, 8 / 1024]],
  ["v2", "sandboxes.slice", [0.45, 0.75, 0.5, 12 / 1024]],
  ["hybrid", null, [0.45, 0.75, null, 0.001]],
  ["hybrid-split", null, [0.45, 644245094 / 2 ** 30, 0.25, 4 / 1024]],
  ["nested", "sandboxes", [0.45, 0.75, 0.8, 8 / 1024]],
  ["nested-v1", null, [0.45, 0.5, null, 8 / 1024]],
  ["no-limits", null, [0.45, 0, null, 0]],
  ["all-limits", "sandboxes.slice", [0.45, 61847529062 / 2 ** 36, 0.9, 0.3]],
] satisfies readonly (readonly [TreeName, string | null, Ratios])[])(
  "the host of %s (sandboxes in %s)",
  (name, sandboxCgroup, expected) => {
    const tree = new KernelTree(name);
    const clock = new StepClock();
    const ratios = METRICS.slice(0, 4).map((source) => {
      const sampler = createSampler(tree.init(source, { sandboxCgroup }), clock);
      sampler.sample(1);
      clock.nowMs += 5_000;
      if (source === "cpu") tree.swapIn("proc/stat", "later");
      const observation = sampler.sample(2);
      expect(observation.failed).toBe(false);
      return observation.source === "capacity" ? null : observation.ratio;
    });
    expect(ratios).toEqual(expected);
  },
);

test("each source gets its own sampler, and its observation can cross to another thread", () => {
  const tree = new KernelTree("all-limits");
  const clock = new StepClock();
  const observations = SOURCES.map((source) =>
    createSampler(tree.init(source, { filestore: tree.path, sandboxCgroup: "sandboxes.slice" }), clock).sample(7),
  );
  expect(observations.map(({ source, tick }) => [source, tick])).toEqual(SOURCES.map((source) => [source, 7]));
  expect(structuredClone<readonly Observation[]>(observations)).toEqual(observations);
});

test("samplers of one source share no baseline", () => {
  const tree = new KernelTree("no-limits");
  const clock = new StepClock();
  const first = createSampler(tree.init("cpu"), clock);
  first.sample(1);
  tree.swapIn("proc/stat", "later");
  expect(createSampler(tree.init("cpu"), clock).sample(1)).toMatchObject({ ratio: null });
  expect(first.sample(2)).toMatchObject({ ratio: 0.45 });
});

test("the kernel of this machine is understood", () => {
  for (const source of ["memory", "fd"] as const) {
    const init = { ...systemRoots, source, sandboxCgroup: null, filestore: null, filestoreOvercommitRatio: 1 };
    const observation = createSampler(init, new StepClock()).sample(1);
    expect(observation.readings[0]).toMatchObject({ ratio: expect.any(Number), why: null });
  }
});

test("readings are bounded, however many cgroups apply", () => {
  const tree = new KernelTree("all-limits");
  tree.write("proc/self/cgroup", `0::${"/deep".repeat(1_000)}\n`);
  for (const source of SOURCES) {
    const { readings } = createSampler(tree.init(source, { filestore: tree.path }), new StepClock()).sample(1);
    expect(readings.length).toBeLessThanOrEqual(64);
  }
});
