import { describe, expect, test } from "vitest";
import { parseCgroupMounts } from "../../../src/actors/sampler/mountinfo.ts";
import { membershipPath, parseMemberships } from "../../../src/actors/sampler/self-cgroup.ts";
import { fixture } from "./kernel-tree.ts";

const v2 = { version: 2, root: "/", mountPoint: "/sys/fs/cgroup", controllers: [] };

describe("mountinfo", () => {
  test("the one cgroup mount of a v2 host", () => {
    expect(parseCgroupMounts(fixture("v2", "proc/self/mountinfo"))).toEqual([v2]);
  });

  test("the controllers of v1 come from the mount's options", () => {
    const mounts = parseCgroupMounts(fixture("v1-comounted", "proc/self/mountinfo"));
    expect(mounts[0]).toEqual({
      version: 1,
      root: "/",
      mountPoint: "/sys/fs/cgroup/cpu,cpuacct",
      controllers: ["rw", "cpu", "cpuacct"],
    });
    expect(mounts).toHaveLength(9);
  });

  test.each([
    ["no optional field", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"],
    ["several optional fields", "30 23 0:26 / /sys/fs/cgroup rw shared:4 master:1 unbindable - cgroup2 cgroup2 rw"],
    ["the source is -", "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 - rw"],
    ["an empty source", "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2  rw"],
    ["a source that looks like a cgroup", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 - - cgroup rw"],
  ])("%s", (_, line) => {
    expect(parseCgroupMounts(line)).toEqual([v2]);
  });

  test("octal escapes in root and mount point, each decoded once", () => {
    const line = String.raw`30 23 0:26 /a\040b\134040c /mnt/t\011ab\012line rw - cgroup2 none rw`;
    expect(parseCgroupMounts(line)).toEqual([
      { version: 2, root: String.raw`/a b\040c`, mountPoint: "/mnt/t\tab\nline", controllers: [] },
    ]);
  });

  test.each([
    ["", "empty"],
    ["30 23 0:26 / /sys/fs/cgroup rw shared:4 cgroup2 cgroup2 rw", "no separator"],
    ["30 23 0:26 / /sys/fs/cgroup - cgroup2 cgroup2 rw", "a separator before field 7"],
    ["30 23 0:26 / /sys/fs/cgroup rw - cgroup", "cut behind the type"],
    ["30 23 0:26 / sys/fs/cgroup rw - cgroup2 cgroup2 rw", "a relative mount point"],
    ["30 23 0:26 mnt:[4026] /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "a root that is no path"],
    ["30 23 0:26 /gone//deleted /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "a removed root"],
    ["30 23 0:26 / /sys/fs/cgr\0oup rw - cgroup2 cgroup2 rw", "a NUL in the mount point"],
    ["30 23 0:26 / /sys/fs/cgroup rw - cgroupfs cgroup2 rw", "another type"],
    ["30 23 0:26 / /mnt - cgroup rw - ext4 /dev/sda rw", "another type behind an early separator"],
  ])("%j is skipped (%s), the next line used", (line) => {
    expect(parseCgroupMounts(`${line}\n30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n`)).toEqual([v2]);
  });
});

describe("self/cgroup", () => {
  test("controllers, named hierarchies and v2", () => {
    expect(parseMemberships(fixture("nested-v1", "proc/self/cgroup"))).toContainEqual({
      controllers: ["cpu", "cpuacct"],
      path: "/kubepods/burstable/pod1234/4f1c",
    });
    expect(parseMemberships("1:name=systemd:/a\n0::/b\n")).toEqual([
      { controllers: ["name=systemd"], path: "/a" },
      { controllers: [], path: "/b" },
    ]);
  });

  test("a path may hold colons and spaces", () => {
    expect(parseMemberships("0::/lxc:web:1/a b \n")).toEqual([{ controllers: [], path: "/lxc:web:1/a b " }]);
  });

  test.each(["", "x::/a", "0:/a", "0::a", "0::", "0::/nul\0", "::/a"])("%j is skipped, the next line used", (line) => {
    expect(parseMemberships(`${line}\n4:memory:/m\n`)).toEqual([{ controllers: ["memory"], path: "/m" }]);
  });

  test("a hierarchy that is not listed has no path", () => {
    const memberships = parseMemberships("4:memory:/m\n");
    expect(membershipPath(memberships, { version: 1, controller: "memory" })).toBe("/m");
    expect(membershipPath(memberships, { version: 1, controller: "cpu" })).toBeNull();
    expect(membershipPath(memberships, { version: 2 })).toBeNull();
  });
});
