import { join } from "node:path";
import type { KernelRoots } from "../../ports/kernel-roots.ts";
import { readAndParse, VALUE_BYTES_MAX } from "./kernel-file.ts";
import { failed, found, type Outcome, quote } from "./outcome.ts";

export const onlineCpusPath = (roots: KernelRoots): string => join(roots.sys, "devices/system/cpu/online");

/** How many CPUs are online, at least 1. Source: Documentation/admin-guide/cputopology.rst. */
export function readOnlineCpus(roots: KernelRoots): Outcome<number> {
  const file = { path: onlineCpusPath(roots), bytesMax: VALUE_BYTES_MAX, mustExist: true };
  const count = readAndParse(file, parseCpuList);
  return count.kind === "found" && count.value === 0 ? failed("no CPU is online") : count;
}

/**
 * How many distinct CPUs a list such as `0-3,8,10-11` names. Ranges may overlap; an empty list names none. Ranges are
 * merged, not spelled out, so that a corrupt `0-999999` costs nothing.
 */
export function parseCpuList(text: string): Outcome<number> {
  const list = text.trim();
  if (list === "") return found(0);
  const ranges: { first: number; last: number }[] = [];
  for (const item of list.split(",")) {
    // Linux numbers at most 8192 CPUs.
    const [, first, last = first] = /^([0-9]{1,6})(?:-([0-9]{1,6}))?$/.exec(item) ?? [];
    if (first === undefined || Number(last) < Number(first)) return failed(`not a CPU list: ${quote(list)}`);
    ranges.push({ first: Number(first), last: Number(last) });
  }
  ranges.sort((a, b) => a.first - b.first);
  let count = 0;
  let countedUpTo = -1;
  for (const { first, last } of ranges) {
    count += Math.max(0, last - Math.max(first - 1, countedUpTo));
    countedUpTo = Math.max(countedUpTo, last);
  }
  return found(count);
}
