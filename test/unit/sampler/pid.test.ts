import { expect, test } from "vitest";
import { createPidSampler } from "../../../src/actors/sampler/pid.ts";
import { KernelTree, StepClock } from "./kernel-tree.ts";

const OWN_V2 = "sys/fs/cgroup/system.slice/evenkeel.service";

const sample = (tree: KernelTree, sandboxCgroup: string | null = null) =>
  createPidSampler(tree.init("pid", { sandboxCgroup }), { clock: new StepClock() }).sample(1);

test("pids.current / pids.max of each cgroup, the maximum of all", () => {
  const tree = new KernelTree("v2");
  expect(sample(tree).readings.map(({ ratio }) => ratio)).toEqual([0.125, 0.125, null]);
  expect(sample(tree).ratio).toBe(0.125);
  expect(sample(tree, "sandboxes.slice").ratio).toBe(0.5);
});

test("without any finite limit the metric is null, and that is no failure", () => {
  const tree = new KernelTree("no-limits");
  expect(sample(tree)).toMatchObject({ source: "pid", ratio: null, failed: false });
  expect(sample(tree).readings.map(({ why }) => why)).toEqual([
    "pids.max: the limit is max",
    "pids.max: the limit is max",
    "pids.max: open ENOENT",
  ]);
});

test("nothing but cgroups counts: not even a full table of the host's tasks", () => {
  const tree = new KernelTree("no-limits");
  tree.write("proc/sys/kernel/pid_max", "10\n");
  tree.write("proc/loadavg", "0.1 0.1 0.1 1/10 10\n");
  expect(sample(tree).ratio).toBeNull();
});

test("v1 in its own mount; a host root without files has no limit", () => {
  const tree = new KernelTree("v1");
  expect(sample(tree, "sandboxes")).toMatchObject({ ratio: 0.5, failed: false });
  expect(sample(new KernelTree("hybrid"))).toMatchObject({ ratio: null, failed: false });
});

test("zero tasks are 0, more than the limit 1", () => {
  const tree = new KernelTree("v2");
  tree.write("sys/fs/cgroup/system.slice/pids.max", "max\n");
  tree.write(`${OWN_V2}/pids.current`, "0\n");
  expect(sample(tree).ratio).toBe(0);
  // Moving tasks in is not stopped by the limit, so the kernel itself says that usage may be above it.
  tree.write(`${OWN_V2}/pids.current`, "513\n");
  expect(sample(tree).ratio).toBe(1);
});

test("a limit of 0 has no ratio", () => {
  const tree = new KernelTree("v2");
  tree.write("sys/fs/cgroup/system.slice/pids.max", "max\n");
  tree.write(`${OWN_V2}/pids.max`, "0\n");
  expect(sample(tree)).toMatchObject({ ratio: null, failed: false });
});

test("a cgroup that vanishes between the two reads loses its own ratio only", () => {
  const tree = new KernelTree("v2");
  tree.remove(`${OWN_V2}/pids.current`);
  expect(sample(tree)).toMatchObject({ ratio: 0.125, failed: false });
});

test("a malformed limit fails that cgroup only", () => {
  const tree = new KernelTree("v2");
  tree.write(`${OWN_V2}/pids.max`, "-1\n");
  expect(sample(tree)).toMatchObject({ ratio: 0.125, failed: true });
});
