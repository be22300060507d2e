/**
 * Which cgroups bear on the daemon: its own and, where one is configured, the sandboxes', each with its ancestors up to
 * the mount point. Nothing below them is looked at. It is found out anew with every sample, since mounts, memberships
 * and limits change under a running daemon.
 *
 *     self/cgroup     own path ─────────┐
 *                                       ├──▶ per controller: cgroups, the deepest first
 *     self/mountinfo  roots, points ────┤
 *     --sandbox-cgroup ─────────────────┘
 */

import { existsSync } from "node:fs";
import type { KernelRoots } from "../../ports/kernel-roots.ts";
import { cpuacctDirectory } from "./cgroup-cpuacct.ts";
import {
  belongsTo,
  type Components,
  componentsOf,
  directoryOf,
  type Hierarchy,
  pathOf,
  relativeTo,
} from "./cgroup-path.ts";
import { type CgroupMount, mountinfoPath, readCgroupMounts } from "./mountinfo.ts";
import { failed, type Missing, type Outcome } from "./outcome.ts";
import { type Membership, membershipPath, readMemberships, selfCgroupPath } from "./self-cgroup.ts";

export type Controller = "cpu" | "memory" | "pids" | "cpuset";

/** One cgroup of the hierarchy that has the controller. Its limit and its usage are read from this same cgroup. */
export interface Cgroup {
  readonly version: 1 | 2;
  /** In the hierarchy, as the daemon's cgroup namespace sees it. */
  readonly path: string;
  readonly directory: string;
  /**
   * Where its CPU usage is read: for v1 `cpu`, the same path in the `cpuacct` hierarchy, null where that is not the same
   * cgroup or not visible; otherwise `directory`.
   */
  readonly cpuUsageDirectory: string | null;
}

/** Where something could not be read, and why. */
export interface Problem {
  readonly from: string;
  readonly outcome: Missing;
}

export interface Discovery {
  readonly cgroups: readonly Cgroup[];
  /** What kept cgroups from being found; empty as a rule. */
  readonly problems: readonly Problem[];
}

export interface DiscoveryInit extends KernelRoots {
  readonly sandboxCgroup: string | null;
}

/** What the kernel says about cgroups now: all that discovery goes by. */
export interface CgroupView {
  readonly mounts: readonly CgroupMount[];
  readonly memberships: readonly Membership[];
  readonly sandboxCgroup: string | null;
  readonly sys: string;
}

export interface CgroupViewReading {
  readonly view: CgroupView;
  readonly problems: readonly Problem[];
}

// Bounds the reads of a sample. Real paths are less than ten deep; the daemon's own cgroups are the last to be left out.
export const CGROUPS_MAX = 60;

export function readCgroupView(init: DiscoveryInit): CgroupViewReading {
  const { sandboxCgroup, sys } = init;
  const memberships = readMemberships(init);
  const mounts = readCgroupMounts(init);
  const problems: Problem[] = [];
  if (memberships.kind === "failed") problems.push({ from: selfCgroupPath(init), outcome: memberships });
  if (mounts.kind === "failed") problems.push({ from: mountinfoPath(init), outcome: mounts });
  const visible = withoutHidden(listOf(mounts), sys);
  return { view: { mounts: visible, memberships: listOf(memberships), sandboxCgroup, sys }, problems };
}

/** Of several mounts of one hierarchy, those that lead nowhere (hidden, or out of this root) are left out. */
function withoutHidden(mounts: readonly CgroupMount[], sys: string): readonly CgroupMount[] {
  const hierarchyOf = ({ version, controllers }: CgroupMount): string => `${version} ${controllers.join()}`;
  return mounts.filter((mount) => {
    const alike = mounts.filter((other) => hierarchyOf(other) === hierarchyOf(mount));
    return alike.length === 1 || existsSync(directoryOf(mount, [], sys));
  });
}

/** The cgroups that apply for one controller, at most {@link CGROUPS_MAX}. */
export function discoverCgroups({ view, problems: known }: CgroupViewReading, controller: Controller): Discovery {
  const cgroups = applicableCgroups(view, controller);
  const unreadable = cgroups.filter(({ path }) => path.includes(REPLACEMENT)).map(unreadablePath);
  const problems = [...known, ...unreadable];
  if (cgroups.length <= CGROUPS_MAX) return { cgroups, problems };
  const leftOut = { from: view.sys, outcome: failed(`more than ${CGROUPS_MAX} cgroups apply for ${controller}`) };
  return { cgroups: cgroups.slice(0, CGROUPS_MAX), problems: [...problems, leftOut] };
}

/** What decoding puts in place of bytes that are not UTF-8. A path that holds it opens another file, or none. */
const REPLACEMENT = "\uFFFD";

function unreadablePath({ directory }: Cgroup): Problem {
  return { from: directory, outcome: failed("the cgroup's name is not UTF-8") };
}

// A kernel without cgroups has neither file, and then no cgroup applies.
const listOf = <T>(outcome: Outcome<readonly T[]>): readonly T[] => (outcome.kind === "found" ? outcome.value : []);

/**
 * The cgroups whose limits of `controller` apply, each path once: the daemon's own and its ancestors first, then the
 * sandboxes'. At most one more than {@link CGROUPS_MAX}.
 */
export function applicableCgroups(view: CgroupView, controller: Controller): readonly Cgroup[] {
  const mounts = reachable(view.mounts);
  const hierarchy = hierarchyOf(mounts, controller);
  const ownPath = membershipPath(view.memberships, hierarchy);
  const own = ownPath === null ? null : componentsOf(ownPath);
  const sandbox = view.sandboxCgroup === null ? null : componentsOf(view.sandboxCgroup);

  const places = new Map<string, Place>();
  const mountsOfIt = mounts.filter((mount) => belongsTo(mount, hierarchy));
  for (const mount of mountsOfIt) {
    if (own !== null) addPathTo(places, { mount, rest: relativeTo(componentsOf(mount.root), own), end: "own" });
  }
  for (const mount of mountsOfIt) {
    if (sandbox !== null) addPathTo(places, { mount, rest: relativeTo([], sandbox), end: "sandbox" });
  }

  return Array.from(places, ([path, place]) => {
    const directory = directoryOf(place.mount, place.rest, view.sys);
    const cpuUsageDirectory =
      hierarchy.version === 1 && controller === "cpu"
        ? cpuacctDirectory(
            { ...view, mounts },
            { path, own: place.ends.has("own") ? own : null, isSandbox: place.ends.has("sandbox") },
          )
        : directory;
    return { version: hierarchy.version, path, directory, cpuUsageDirectory };
  });
}

/** A cgroup as found: `rest` below a mount, on the way to the daemon's own cgroup, to the sandboxes', or to both. */
interface Place {
  readonly mount: CgroupMount;
  readonly rest: Components;
  readonly ends: Set<"own" | "sandbox">;
}

interface PathToEnd {
  readonly mount: CgroupMount;
  /** The end's path below the mount; null where the mount does not show it. */
  readonly rest: Components | null;
  readonly end: "own" | "sandbox";
}

/** Adds the end of a path and its visible ancestors, the deepest first. A cgroup that several mounts show is added once. */
function addPathTo(places: Map<string, Place>, { mount, rest, end }: PathToEnd): void {
  if (rest === null) return;
  const root = componentsOf(mount.root);
  for (let depth = rest.length; depth >= 0; depth--) {
    const below = rest.slice(0, depth);
    const path = pathOf([...root, ...below]);
    const known = places.get(path);
    if (known !== undefined) known.ends.add(end);
    else if (places.size <= CGROUPS_MAX) places.set(path, { mount, rest: below, ends: new Set([end]) });
    else return;
  }
}

/** A mounted v1 hierarchy that lists the controller wins, else it is v2's. Each controller is settled by itself. */
function hierarchyOf(mounts: readonly CgroupMount[], controller: Controller): Hierarchy {
  const v1: Hierarchy = { version: 1, controller };
  return mounts.some((mount) => belongsTo(mount, v1)) ? v1 : { version: 2 };
}

/** Of several mounts on one mount point, only the last can be reached. */
function reachable(mounts: readonly CgroupMount[]): readonly CgroupMount[] {
  return [...new Map(mounts.map((mount) => [mount.mountPoint, mount])).values()];
}
