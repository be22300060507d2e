import { expect, test } from "vitest";
import { parseCpuList, readOnlineCpus } from "../../../src/actors/sampler/cpu-list.ts";
import { failed, found } from "../../../src/actors/sampler/outcome.ts";
import { KernelTree } from "./kernel-tree.ts";

test.each([
  ["0\n", 1],
  ["0-31\n", 32],
  ["0-3,8,10-11\n", 7],
  ["10-11,0-3,8", 7],
  ["0-3,2-5", 6],
  ["0-7,2-3,7", 8],
  ["3,3,3-3", 1],
  ["0-999999", 1_000_000],
  ["\n", 0],
  ["", 0],
])("%j names %i CPUs", (list, count) => {
  expect(parseCpuList(list)).toEqual(found(count));
});

test.each(["0-", "-3", "3-1", "0,,1", "0-3,", "a", "0-3-5", "0x1", "1 2", "0-9999999"])("malformed: %j", (list) => {
  expect(parseCpuList(list)).toEqual(failed(`not a CPU list: ${JSON.stringify(list)}`));
});

test("online CPUs of a tree; none online, a malformed and a missing file fail", () => {
  const tree = new KernelTree("v2");
  const online = "sys/devices/system/cpu/online";
  expect(readOnlineCpus(tree.init("capacity"))).toEqual(found(32));
  tree.swapIn(online, "malformed");
  expect(readOnlineCpus(tree.init("capacity"))).toEqual(failed('online: not a CPU list: "0-31,x"'));
  tree.write(online, "\n");
  expect(readOnlineCpus(tree.init("capacity"))).toEqual(failed("no CPU is online"));
  tree.remove(online);
  expect(readOnlineCpus(tree.init("capacity"))).toEqual(failed("online: open ENOENT"));
});
