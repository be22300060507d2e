import fc from "fast-check";
import { expect, test } from "vitest";
import { applicableCgroups } from "../../../src/actors/sampler/cgroup-discovery.ts";

const RUNS = { seed: 14_142, numRuns: 1_000 };

const names = fc.array(fc.constantFrom("a", "ab", "b", "pod1", "pod12"), { maxLength: 4 });
const pathOf = (of: readonly string[]): string => `/${of.join("/")}`;

test("the own cgroups are the ancestors of the membership that a mount shows, each once, usage beside limit", () => {
  fc.assert(
    fc.property(names, fc.array(names, { minLength: 1, maxLength: 4 }), (own, roots) => {
      const mounts = roots.map((root, index) => ({
        version: 2 as const,
        root: pathOf(root),
        mountPoint: `/mnt${index}`,
        controllers: [],
      }));
      const memberships = [{ controllers: [], path: pathOf(own) }];
      const cgroups = applicableCgroups({ mounts, memberships, sandboxCgroup: null, sys: "/sys" }, "memory");

      // Naively: an ancestor is shown by every mount whose root is a prefix, slash by slash, of it.
      const isAbove = (upper: string, lower: string): boolean =>
        `${lower}/`.startsWith(upper === "/" ? "/" : `${upper}/`);
      const ancestors = own.map((_, index) => pathOf(own.slice(0, index + 1))).concat("/");
      const shown = ancestors.filter((path) => mounts.some(({ root }) => isAbove(root, path)));

      expect(cgroups.map(({ path }) => path).toSorted()).toEqual(shown.toSorted());
      for (const { path, directory } of cgroups) {
        const places = mounts
          .filter(({ root }) => isAbove(root, path))
          .map(
            ({ root, mountPoint }) => mountPoint + (root === "/" ? path : path.slice(root.length)).replace(/\/$/, ""),
          );
        expect(places).toContain(directory);
      }
    }),
    RUNS,
  );
});
