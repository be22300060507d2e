import { closeSync, openSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseFileNr, readFileNr } from "../../../src/actors/sampler/file-nr.ts";
import { parseMeminfo, readMeminfo } from "../../../src/actors/sampler/meminfo.ts";
import { failed, found, none } from "../../../src/actors/sampler/outcome.ts";
import { readOpenDescriptors } from "../../../src/actors/sampler/self-fd.ts";
import { parseOpenFilesLimit, readOpenFilesLimit } from "../../../src/actors/sampler/self-limits.ts";
import { systemRoots } from "../../../src/ports/kernel-roots.ts";
import { KernelTree } from "./kernel-tree.ts";

describe("meminfo", () => {
  test("a real file, in bytes", () => {
    const meminfo = readMeminfo(new KernelTree("v2").init("memory"));
    expect(meminfo).toEqual(found({ totalBytes: 67386888192n, availableBytes: found(33693444096n) }));
  });

  test("a missing MemAvailable is null, and never MemFree", () => {
    const tree = new KernelTree("v2");
    tree.swapIn("proc/meminfo", "no-available");
    expect(readMeminfo(tree.init("memory"))).toEqual(
      found({ totalBytes: 67386888192n, availableBytes: none("no MemAvailable line") }),
    );
  });

  test("without MemTotal it fails", () => {
    const tree = new KernelTree("v2");
    tree.swapIn("proc/meminfo", "no-total");
    expect(readMeminfo(tree.init("memory"))).toEqual(failed("meminfo: no MemTotal line"));
  });

  test("a malformed MemAvailable fails by itself and leaves the total", () => {
    const tree = new KernelTree("v2");
    tree.swapIn("proc/meminfo", "malformed");
    expect(readMeminfo(tree.init("memory"))).toEqual(
      found({
        totalBytes: 67386888192n,
        availableBytes: failed('not a meminfo line: "MemAvailable:   3290375? kB"'),
      }),
    );
  });

  test("exact beyond 2^53 bytes", () => {
    expect(parseMeminfo("MemTotal: 18014398509481985 kB\n")).toEqual(
      found({ totalBytes: 18446744073709552640n, availableBytes: none("no MemAvailable line") }),
    );
  });

  test.each(["MemTotal: 5", "MemTotal: 5 MB", "MemTotal: -5 kB", "MemTotal: kB", "MemTotal:"])(
    "malformed: %j",
    (line) => {
      expect(parseMeminfo(`${line}\n`)).toEqual(failed(`not a meminfo line: ${JSON.stringify(line)}`));
    },
  );
});

describe("file-nr", () => {
  test("allocated, free, maximum, exact up to the kernel's default maximum", () => {
    expect(readFileNr(new KernelTree("v2").init("fd"))).toEqual(
      found({ allocated: 4096n, free: 0n, maximum: 9223372036854775807n }),
    );
  });

  test("file-nr.two-fields fails", () => {
    const tree = new KernelTree("v2");
    tree.swapIn("proc/sys/fs/file-nr", "two-fields");
    expect(readFileNr(tree.init("fd"))).toEqual(failed('file-nr: not three counts: "4096\\t0\\n"'));
  });

  test.each(["", "1 2 3 4", "1 2 x", "1 2 -3"])("malformed: %j", (text) => {
    expect(parseFileNr(text)).toEqual(failed(`not three counts: ${JSON.stringify(text)}`));
  });
});

describe("self/limits", () => {
  test("the soft limit, not the hard one", () => {
    expect(readOpenFilesLimit(new KernelTree("v2").init("fd"))).toEqual(found(1024n));
  });

  test("unlimited is no limit, a malformed line fails", () => {
    const tree = new KernelTree("v2");
    tree.swapIn("proc/self/limits", "unlimited");
    expect(readOpenFilesLimit(tree.init("fd"))).toEqual(none("limits: the soft limit is unlimited"));
    tree.swapIn("proc/self/limits", "malformed");
    expect(readOpenFilesLimit(tree.init("fd"))).toMatchObject({ kind: "failed" });
  });

  test("a file without the line fails", () => {
    expect(parseOpenFilesLimit("Max processes 1 2 processes\n")).toEqual(failed("no Max open files line"));
  });
});

describe("self/fd", () => {
  test("counts the names that are numbers", () => {
    const tree = new KernelTree("v2");
    tree.write("proc/self/fd/README", "not a descriptor");
    expect(readOpenDescriptors(tree.init("fd"))).toEqual(found(12n));
  });

  test("on a real procfs, the descriptor that lists is not counted", () => {
    const listed = readdirSync("/proc/self/fd").length - 1;
    expect(readOpenDescriptors(systemRoots)).toEqual(found(BigInt(listed)));
    const more = openSync("/dev/null", "r");
    expect(readOpenDescriptors(systemRoots)).toEqual(found(BigInt(listed + 1)));
    closeSync(more);
    expect(readOpenDescriptors(systemRoots)).toEqual(found(BigInt(listed)));
  });

  test("an absent folder fails", () => {
    const tree = new KernelTree("v2");
    tree.remove("proc/self/fd");
    expect(readOpenDescriptors(tree.init("fd"))).toEqual(failed("opendir ENOENT"));
  });
});
