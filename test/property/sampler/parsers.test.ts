import fc from "fast-check";
import { expect, test } from "vitest";
import { parseCpuList } from "../../../src/actors/sampler/cpu-list.ts";
import { type CgroupMount, parseCgroupMounts } from "../../../src/actors/sampler/mountinfo.ts";
import { found } from "../../../src/actors/sampler/outcome.ts";
import { parseMemberships } from "../../../src/actors/sampler/self-cgroup.ts";

const RUNS = { seed: 24_117, numRuns: 500 };

/** Names with all that paths may hold: blanks, backslashes, colons, dashes, digits that look like escapes. */
const name = fc
  .string({
    minLength: 1,
    maxLength: 6,
    unit: fc.constantFrom("a", "é", "0", "4", " ", "\t", "\n", "\\", ":", "-", ".", "_"),
  })
  .filter((text) => text !== "." && text !== "..");
const path = fc.array(name, { maxLength: 4 }).map((names) => `/${names.join("/")}`);

const escaped = (text: string): string =>
  Array.from(text, (character) =>
    " \t\n\\".includes(character) ? `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}` : character,
  ).join("");

const controllers = fc.subarray(["cpu", "cpuacct", "memory", "pids", "name=systemd"], { minLength: 1 });

const mountLine = fc.record({
  type: fc.constantFrom("cgroup", "cgroup2", "ext4", "tmpfs", "fuse.cgroupfs"),
  root: path,
  mountPoint: path,
  optional: fc.subarray(["shared:1", "master:2", "propagate_from:3", "unbindable"]),
  source: fc.constantFrom("cgroup", "none", "-", "", "cgroup2", "/dev/sda1"),
  controllers,
});

test("mountinfo is read as it was written, and other lines are left out", () => {
  fc.assert(
    fc.property(fc.array(mountLine, { maxLength: 8 }), (mounts) => {
      const lines = mounts.map(({ type, root, mountPoint, optional, source, controllers: of }, index) =>
        [index + 20, 1, `0:${index}`, escaped(root), escaped(mountPoint), "rw,relatime", ...optional, "-"]
          .concat(type, source, ["rw", ...of].join(","))
          .join(" "),
      );
      const expected = mounts.flatMap(({ type, root, mountPoint, controllers: of }): CgroupMount[] => {
        if (type === "cgroup2") return [{ version: 2, root, mountPoint, controllers: [] }];
        return type === "cgroup" ? [{ version: 1, root, mountPoint, controllers: ["rw", ...of] }] : [];
      });
      expect(parseCgroupMounts(`${lines.join("\n")}\n`)).toEqual(expected);
    }),
    RUNS,
  );
});

test("memberships are read as they were written", () => {
  const membership = fc.record({
    controllers: fc.oneof(controllers, fc.constant([])),
    path: path.map((text) => text.replaceAll("\n", "")),
  });
  fc.assert(
    fc.property(fc.array(membership, { maxLength: 8 }), (memberships) => {
      const lines = memberships.map((of, index) => `${index}:${of.controllers.join(",")}:${of.path}\n`);
      expect(parseMemberships(lines.join(""))).toEqual(memberships);
    }),
    RUNS,
  );
});

test("a CPU list names as many CPUs as a set of them holds", () => {
  const range = fc.tuple(fc.nat(300), fc.nat(40)).map(([first, more]) => ({ first, last: first + more }));
  fc.assert(
    fc.property(fc.array(range, { maxLength: 12 }), fc.boolean(), (ranges, isTerse) => {
      const cpus = new Set<number>();
      for (const { first, last } of ranges) for (let cpu = first; cpu <= last; cpu++) cpus.add(cpu);
      const items = ranges.map(({ first, last }) => (isTerse && first === last ? `${first}` : `${first}-${last}`));
      expect(parseCpuList(`${items.join(",")}\n`)).toEqual(found(cpus.size));
    }),
    RUNS,
  );
});

test("a CPU list of any text is a count or a failure", () => {
  const unit = fc.constantFrom(..."0123456789-, \nx");
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 30 }), (text) => {
      const outcome = parseCpuList(text);
      if (outcome.kind === "found") expect(Number.isSafeInteger(outcome.value) && outcome.value >= 0).toBe(true);
      else expect(outcome.kind).toBe("failed");
    }),
    RUNS,
  );
});
