import { posix } from "node:path";
import type { CgroupMount } from "./mountinfo.ts";

/** A cgroup's path as its names from the root down; `[]` is the root. */
export type Components = readonly string[];

/** The one v2 hierarchy, or the v1 hierarchy that has a controller. */
export type Hierarchy = { readonly version: 2 } | { readonly version: 1; readonly controller: string };

/** Whether a mount is of that hierarchy. v1 hierarchies are told apart by their options, never by where they are mounted. */
export function belongsTo(mount: CgroupMount, hierarchy: Hierarchy): boolean {
  if (mount.version !== hierarchy.version) return false;
  return hierarchy.version === 2 || mount.controllers.includes(hierarchy.controller);
}

export function componentsOf(path: string): Components {
  return path.split("/").filter((name) => name !== "");
}

export function pathOf(components: Components): string {
  return `/${components.join("/")}`;
}

/**
 * `path` relative to `ancestor`, by whole names (`/pod1` is not above `/pod12`); null where it is not at or below it. What
 * climbs out again (`..`, seen from inside a cgroup namespace) is not below either.
 */
export function relativeTo(ancestor: Components, path: Components): Components | null {
  if (!ancestor.every((name, index) => path[index] === name)) return null;
  const rest = path.slice(ancestor.length);
  return rest.includes("..") ? null : rest;
}

/** Where the cgroup `rest` below a mount is read. `sys` stands in for `/sys`; other mount points are taken as they stand. */
export function directoryOf(mount: CgroupMount, rest: Components, sys: string): string {
  const { mountPoint } = mount;
  const isInSys = mountPoint === "/sys" || mountPoint.startsWith("/sys/");
  return posix.join(isInSys ? posix.join(sys, mountPoint.slice("/sys".length)) : mountPoint, ...rest);
}
