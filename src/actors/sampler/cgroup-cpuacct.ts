/**
 * In v1, a cgroup's CPU quota belongs to the `cpu` controller and its CPU usage to `cpuacct`, which may be mounted in a
 * hierarchy of its own. A ratio needs both of the same cgroup.
 */

import { belongsTo, type Components, componentsOf, directoryOf, relativeTo } from "./cgroup-path.ts";
import type { CgroupMount } from "./mountinfo.ts";
import { type Membership, membershipPath } from "./self-cgroup.ts";

const CPUACCT = { version: 1, controller: "cpuacct" } as const;

interface CpuacctView {
  readonly mounts: readonly CgroupMount[];
  readonly memberships: readonly Membership[];
  readonly sys: string;
}

interface CpuCgroup {
  /** Its path in the `cpu` hierarchy. */
  readonly path: string;
  /** Where it is on the daemon's own path: the end of that path in the `cpu` hierarchy; else null. */
  readonly own: Components | null;
  /** Whether it is on the path to the sandboxes' cgroup, which is one logical path in every hierarchy. */
  readonly isSandbox: boolean;
}

/** The directory of the same cgroup in the `cpuacct` hierarchy; null where there is none or none that is visible. */
export function cpuacctDirectory(view: CpuacctView, cgroup: CpuCgroup): string | null {
  const path = componentsOf(cgroup.path);
  if (cgroup.own !== null && !isOwnInBoth(path, { ...cgroup, own: cgroup.own }, view.memberships)) return null;
  for (const mount of view.mounts.filter((candidate) => belongsTo(candidate, CPUACCT))) {
    const rest = relativeTo(componentsOf(mount.root), path);
    if (rest !== null) return directoryOf(mount, rest, view.sys);
  }
  return null;
}

/**
 * Where the daemon is in one cgroup for `cpu` and in another for `cpuacct`, neither's usage answers to the other's quota;
 * only ancestors that the two have in common hold the daemon in both hierarchies.
 */
function isOwnInBoth(
  path: Components,
  cgroup: { readonly own: Components; readonly isSandbox: boolean },
  memberships: readonly Membership[],
): boolean {
  const accounted = membershipPath(memberships, CPUACCT);
  const cpuacctOwn = accounted === null ? null : componentsOf(accounted);
  const isEnd = path.length === cgroup.own.length;
  if (isEnd) return cpuacctOwn !== null && isEqual(cpuacctOwn, path);
  return cgroup.isSandbox || (cpuacctOwn !== null && relativeTo(path, cpuacctOwn) !== null);
}

function isEqual(a: Components, b: Components): boolean {
  return a.length === b.length && relativeTo(a, b) !== null;
}
