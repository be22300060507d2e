import { describe, expect, test } from "vitest";
import {
  applicableCgroups,
  CGROUPS_MAX,
  type Cgroup,
  type Controller,
  discoverCgroups,
  readCgroupView,
} from "../../../src/actors/sampler/cgroup-discovery.ts";
import { directoryOf } from "../../../src/actors/sampler/cgroup-path.ts";
import { parseCgroupMounts } from "../../../src/actors/sampler/mountinfo.ts";
import { failed } from "../../../src/actors/sampler/outcome.ts";
import { parseMemberships } from "../../../src/actors/sampler/self-cgroup.ts";
import { KernelTree, type TreeName } from "./kernel-tree.ts";

interface Host {
  /** Mounts as `type root mountPoint options`. */
  readonly mounts: readonly string[];
  readonly memberships: readonly string[];
  readonly sandboxCgroup?: string;
}

function discover(host: Host, controller: Controller): readonly Cgroup[] {
  const lines = host.mounts.map((mount, index) => {
    const [type, root, mountPoint, options = "rw"] = mount.split(" ");
    return `${30 + index} 23 0:${index} ${root} ${mountPoint} rw,relatime shared:${index} - ${type} none ${options}`;
  });
  const view = {
    mounts: parseCgroupMounts(lines.join("\n")),
    memberships: parseMemberships(host.memberships.join("\n")),
    sandboxCgroup: host.sandboxCgroup ?? null,
    sys: "/sys",
  };
  return applicableCgroups(view, controller);
}

const directories = (host: Host, controller: Controller): readonly string[] =>
  discover(host, controller).map(({ directory }) => directory);

function treeDirectories(
  name: TreeName,
  controller: Controller,
  sandboxCgroup: string | null = null,
): readonly string[] {
  const tree = new KernelTree(name);
  const discovery = discoverCgroups(readCgroupView(tree.init("cpu", { sandboxCgroup })), controller);
  expect(discovery.problems).toEqual([]);
  return discovery.cgroups.map(({ directory }) => directory.slice(tree.at("sys/fs/cgroup").length));
}

describe("own path", () => {
  test("v2: the own cgroup and its ancestors up to the mount point, the deepest first", () => {
    expect(treeDirectories("v2", "memory")).toEqual(["/system.slice/evenkeel.service", "/system.slice", ""]);
  });

  test("v1: each controller's own membership in its own mount", () => {
    expect(treeDirectories("v1", "memory")).toEqual([
      "/memory/system.slice/evenkeel.service",
      "/memory/system.slice",
      "/memory",
    ]);
    expect(treeDirectories("v1", "cpuset")).toEqual(["/cpuset"]);
  });

  test("a namespaced root shows what is below it; the host's tree, rooted outside, does not show the own cgroup", () => {
    expect(treeDirectories("nested", "memory")).toEqual([""]);
  });

  test("a bind-mounted subtree: only what the mount shows", () => {
    expect(treeDirectories("nested-v1", "memory")).toEqual(["/memory/inner", "/memory"]);
    expect(treeDirectories("nested-v1", "cpuset")).toEqual(["/cpuset"]);
  });

  test("prefixes match whole components: pod1234 is not above pod12345", () => {
    expect(treeDirectories("nested-v1", "pids")).toEqual([]);
  });

  test.each([
    ["/", "/../other", []],
    ["/", "/..", []],
    ["/../..", "/", []],
    ["/..", "/../sibling/a", ["/cg/sibling/a", "/cg/sibling", "/cg"]],
    ["/..", "/../../x", []],
    ["/a/b", "/a", []],
    ["/a/b", "/a/b", ["/cg"]],
  ])("root %s, membership %s: %j", (root, membership, expected) => {
    expect(directories({ mounts: [`cgroup2 ${root} /cg`], memberships: [`0::${membership}`] }, "pids")).toEqual(
      expected,
    );
  });

  test("a membership path with colons", () => {
    const host = { mounts: ["cgroup2 / /cg"], memberships: ["0::/lxc:web:1/init.scope"] };
    expect(directories(host, "pids")).toEqual(["/cg/lxc:web:1/init.scope", "/cg/lxc:web:1", "/cg"]);
  });

  test("octal escapes in the mount point", () => {
    const host = { mounts: [String.raw`cgroup2 / /mnt/c\040g`], memberships: ["0::/a"] };
    expect(directories(host, "pids")).toEqual(["/mnt/c g/a", "/mnt/c g"]);
  });

  test("two mounts of one hierarchy: each path once", () => {
    const host = { mounts: ["cgroup2 /a /x", "cgroup2 / /y"], memberships: ["0::/a/b"] };
    expect(discover(host, "memory").map(({ path, directory }) => [path, directory])).toEqual([
      ["/a/b", "/x/b"],
      ["/a", "/x"],
      ["/", "/y"],
    ]);
  });

  test("of two mounts on one mount point, the later is the one that can be read", () => {
    const host = { mounts: ["cgroup2 / /cg", "cgroup2 /a /cg"], memberships: ["0::/a/b"] };
    expect(directories(host, "memory")).toEqual(["/cg/b", "/cg"]);
  });
});

describe("the sandboxes' cgroup", () => {
  test("with its ancestors after the daemon's own, each path once", () => {
    const tree = new KernelTree("v2");
    const init = tree.init("pid", { sandboxCgroup: "sandboxes.slice" });
    const { cgroups } = discoverCgroups(readCgroupView(init), "pids");
    const own = ["/system.slice/evenkeel.service", "/system.slice", "/"];
    expect(cgroups.map(({ path }) => path)).toEqual([...own, "/sandboxes.slice"]);
  });

  test.each(["sand/boxes", "/sand/boxes", "sand/boxes/"])("%s is taken below each mount point", (sandboxCgroup) => {
    const host = { mounts: ["cgroup /docker/x /cg rw,memory"], memberships: [], sandboxCgroup };
    expect(discover(host, "memory").map(({ path, directory }) => [path, directory])).toEqual([
      ["/docker/x/sand/boxes", "/cg/sand/boxes"],
      ["/docker/x/sand", "/cg/sand"],
      ["/docker/x", "/cg"],
    ]);
  });

  test("is found also where the own cgroup is not visible", () => {
    expect(treeDirectories("nested-v1", "pids", "boxes")).toEqual(["/pids/boxes", "/pids"]);
  });

  test("never climbs out of the mount", () => {
    expect(directories({ mounts: ["cgroup2 / /cg"], memberships: [], sandboxCgroup: "a/../../b" }, "cpu")).toEqual([]);
  });
});

describe("v1 or v2, settled per controller", () => {
  test("hybrid without v2 controllers: all of v1", () => {
    expect(treeDirectories("hybrid", "cpu")).toEqual(["/cpu"]);
    expect(treeDirectories("hybrid", "pids")).toEqual(["/pids"]);
  });

  test("a controller that v1 does not mount is v2's", () => {
    expect(treeDirectories("hybrid-split", "memory")).toEqual(["/memory/evenkeel", "/memory"]);
    expect(treeDirectories("hybrid-split", "pids")).toEqual([
      "/unified/system.slice/evenkeel.service",
      "/unified/system.slice",
      "/unified",
    ]);
  });

  test("v1 controllers are found by the mount's options, not by its path", () => {
    const host = {
      mounts: ["cgroup / /sys/fs/cgroup/memory rw,pids", "cgroup / /odd rw,xattr,memory"],
      memberships: ["2:memory:/m", "1:pids:/p"],
    };
    expect(directories(host, "memory")).toEqual(["/odd/m", "/odd"]);
    expect(directories(host, "pids")).toEqual(["/sys/fs/cgroup/memory/p", "/sys/fs/cgroup/memory"]);
  });

  test("a named hierarchy has no controllers", () => {
    const host = { mounts: ["cgroup / /s rw,name=memory", "cgroup2 / /u"], memberships: ["1:name=memory:/n", "0::/u"] };
    expect(directories(host, "memory")).toEqual(["/u/u", "/u"]);
  });

  test("no cgroup mount, no cgroup", () => {
    expect(directories({ mounts: [], memberships: ["0::/a"], sandboxCgroup: "s" }, "cpu")).toEqual([]);
  });
});

describe("v1 cpu and cpuacct", () => {
  const usage = (host: Host): readonly (readonly [string, string | null])[] =>
    discover(host, "cpu").map(({ directory, cpuUsageDirectory }) => [directory, cpuUsageDirectory]);
  const apart = ["cgroup / /cpu rw,cpu", "cgroup / /acct rw,cpuacct"];

  test("co-mounted: one directory", () => {
    const host = { mounts: ["cgroup / /c rw,cpu,cpuacct"], memberships: ["1:cpu,cpuacct:/a"] };
    expect(usage(host)).toEqual([
      ["/c/a", "/c/a"],
      ["/c", "/c"],
    ]);
  });

  test("apart, the same membership: the same path in the other mount", () => {
    expect(usage({ mounts: apart, memberships: ["1:cpu:/a", "2:cpuacct:/a"] })).toEqual([
      ["/cpu/a", "/acct/a"],
      ["/cpu", "/acct"],
    ]);
  });

  test("differing memberships: no usage for the own cgroup, nor for ancestors that they do not share", () => {
    expect(usage({ mounts: apart, memberships: ["1:cpu:/s/a/b", "2:cpuacct:/s/x"] })).toEqual([
      ["/cpu/s/a/b", null],
      ["/cpu/s/a", null],
      ["/cpu/s", "/acct/s"],
      ["/cpu", "/acct"],
    ]);
  });

  test("one membership above the other differs too", () => {
    expect(usage({ mounts: apart, memberships: ["1:cpu:/a", "2:cpuacct:/a/b"] })[0]).toEqual(["/cpu/a", null]);
    expect(usage({ mounts: apart, memberships: ["1:cpu:/a/b", "2:cpuacct:/a"] }).slice(0, 2)).toEqual([
      ["/cpu/a/b", null],
      ["/cpu/a", "/acct/a"],
    ]);
  });

  test("the sandboxes' cgroup is one path in both, whatever the daemon's memberships", () => {
    const host = { mounts: apart, memberships: ["1:cpu:/a", "2:cpuacct:/b"], sandboxCgroup: "s/t" };
    expect(usage(host).slice(2)).toEqual([
      ["/cpu/s/t", "/acct/s/t"],
      ["/cpu/s", "/acct/s"],
    ]);
  });

  test("an ancestor of both the daemon's and the sandboxes' cgroup has the sandboxes' usage", () => {
    const host = { mounts: apart, memberships: ["1:cpu:/s/own", "2:cpuacct:/b"], sandboxCgroup: "s/t" };
    expect(usage(host)).toEqual([
      ["/cpu/s/own", null],
      ["/cpu/s", "/acct/s"],
      ["/cpu", "/acct"],
      ["/cpu/s/t", "/acct/s/t"],
    ]);
  });

  test("cpuacct not mounted, or a subtree of it that does not show the path: no usage", () => {
    expect(usage({ mounts: ["cgroup / /cpu rw,cpu"], memberships: ["1:cpu:/a", "2:cpuacct:/a"] })).toEqual([
      ["/cpu/a", null],
      ["/cpu", null],
    ]);
    const subtree = ["cgroup / /cpu rw,cpu", "cgroup /a /acct rw,cpuacct"];
    expect(usage({ mounts: subtree, memberships: ["1:cpu:/a", "2:cpuacct:/a"] })).toEqual([
      ["/cpu/a", "/acct"],
      ["/cpu", null],
    ]);
  });
});

describe("directories", () => {
  test.each([
    ["/sys", "/tree/sys/a"],
    ["/sys/fs/cgroup", "/tree/sys/fs/cgroup/a"],
    ["/sysroot/cgroup", "/sysroot/cgroup/a"],
    ["/host/sys/fs/cgroup", "/host/sys/fs/cgroup/a"],
    ["/", "/a"],
  ])("mount point %s is read at %s", (mountPoint, directory) => {
    expect(directoryOf({ version: 2, root: "/", mountPoint, controllers: [] }, ["a"], "/tree/sys")).toBe(directory);
  });
});

describe("what discovery reads", () => {
  test("a kernel without cgroups has neither file, and that is no problem", () => {
    const tree = new KernelTree("v2");
    tree.remove("proc/self/cgroup");
    tree.remove("proc/self/mountinfo");
    expect(discoverCgroups(readCgroupView(tree.init("pid")), "pids")).toEqual({ cgroups: [], problems: [] });
  });

  test("an unreadable self/cgroup is a problem, and the sandboxes' cgroup still applies", () => {
    const tree = new KernelTree("v2");
    tree.remove("proc/self/cgroup");
    tree.write("proc/self/cgroup/file", "self/cgroup is now a folder");
    const init = tree.init("pid", { sandboxCgroup: "sandboxes.slice" });
    const { cgroups, problems } = discoverCgroups(readCgroupView(init), "pids");
    expect(cgroups.map(({ path }) => path)).toEqual(["/sandboxes.slice", "/"]);
    expect(problems).toEqual([{ from: tree.at("proc/self/cgroup"), outcome: failed("cgroup: read EISDIR") }]);
  });

  test("the number of cgroups is bounded, and what is left out is told", () => {
    const tree = new KernelTree("v2");
    tree.write("proc/self/cgroup", `0::${"/deep".repeat(10_000)}\n`);
    const { cgroups, problems } = discoverCgroups(readCgroupView(tree.init("pid")), "pids");
    expect(cgroups).toHaveLength(CGROUPS_MAX);
    expect(problems).toEqual([
      { from: tree.at("sys"), outcome: failed(`more than ${CGROUPS_MAX} cgroups apply for pids`) },
    ]);
  });
});
