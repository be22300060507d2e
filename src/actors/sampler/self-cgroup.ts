import { join } from "node:path";
import type { KernelRoots } from "../../ports/kernel-roots.ts";
import type { Hierarchy } from "./cgroup-path.ts";
import { readAndParse } from "./kernel-file.ts";
import { found, type Outcome } from "./outcome.ts";

/** The cgroup that the daemon is in, in one hierarchy. Source: cgroups(7), `/proc/pid/cgroup`. */
export interface Membership {
  /** The hierarchy's v1 controllers, or its name as `name=systemd`; empty for the v2 hierarchy. */
  readonly controllers: readonly string[];
  /** Relative to the reader's cgroup namespace: begins with `/..` where it is outside. */
  readonly path: string;
}

// At most a dozen hierarchies, each with a path of at most PATH_MAX (4096) bytes.
const SELF_CGROUP_BYTES_MAX = 128 * 1024;

export const selfCgroupPath = (roots: KernelRoots): string => join(roots.proc, "self/cgroup");

export function readMemberships(roots: KernelRoots): Outcome<readonly Membership[]> {
  return readAndParse({ path: selfCgroupPath(roots), bytesMax: SELF_CGROUP_BYTES_MAX }, (text) =>
    found(parseMemberships(text)),
  );
}

/** Lines of `id:controllers:path`, where the path may itself hold colons. A line that is not one is skipped. */
export function parseMemberships(text: string): readonly Membership[] {
  const memberships: Membership[] = [];
  for (const line of text.split("\n")) {
    // No path of the kernel holds a NUL, and no system call would take it.
    const [, controllers, path] = /^[0-9]+:([^:]*):(\/[^\0]*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    memberships.push({ controllers: controllers === "" ? [] : controllers.split(","), path });
  }
  return memberships;
}

/** The path of the daemon's cgroup in a hierarchy; null when it is not listed. */
export function membershipPath(memberships: readonly Membership[], hierarchy: Hierarchy): string | null {
  const membership = memberships.find(({ controllers }) =>
    hierarchy.version === 2 ? controllers.length === 0 : controllers.includes(hierarchy.controller),
  );
  return membership?.path ?? null;
}
