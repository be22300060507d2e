import { join } from "node:path";
import type { KernelRoots } from "../../ports/kernel-roots.ts";
import { readAndParse } from "./kernel-file.ts";
import { found, type Outcome } from "./outcome.ts";

/** A mount of a cgroup hierarchy. Source: Documentation/filesystems/proc.rst, 3.5 `/proc/<pid>/mountinfo`. */
export interface CgroupMount {
  readonly version: 1 | 2;
  /** The cgroup that is visible at the mount point; relative to the reader's cgroup namespace, like memberships. */
  readonly root: string;
  readonly mountPoint: string;
  /** v1: the options of the hierarchy, which name its controllers. Empty for v2. */
  readonly controllers: readonly string[];
}

// A node with ten thousand mounts of long overlay options has a few MiB of them.
const MOUNTINFO_BYTES_MAX = 16 * 1024 * 1024;

// Fields, counted from 0: id, parent, device, root, mount point, options, any number of optional ones, a lone `-`,
// type, source, options of the filesystem.
const ROOT = 3;
const MOUNT_POINT = 4;
const OPTIONAL = 6;

export const mountinfoPath = (roots: KernelRoots): string => join(roots.proc, "self/mountinfo");

export function readCgroupMounts(roots: KernelRoots): Outcome<readonly CgroupMount[]> {
  return readAndParse({ path: mountinfoPath(roots), bytesMax: MOUNTINFO_BYTES_MAX }, (text) =>
    found(parseCgroupMounts(text)),
  );
}

/** The cgroup mounts, in the file's order. Other mounts, and lines that cannot be parsed, are skipped. */
export function parseCgroupMounts(text: string): readonly CgroupMount[] {
  const mounts: CgroupMount[] = [];
  for (const line of text.split("\n")) {
    // Every cgroup mount's line holds this; a host has thousands of others, which need no splitting.
    if (!line.includes(" - cgroup")) continue;
    const mount = parseLine(line);
    if (mount !== null) mounts.push(mount);
  }
  return mounts;
}

function parseLine(line: string): CgroupMount | null {
  const fields = line.split(" ");
  const separator = fields.indexOf("-", OPTIONAL);
  if (separator === -1) return null;
  const type = fields[separator + 1];
  const options = fields[separator + 3];
  const root = decodePath(fields[ROOT]);
  const mountPoint = decodePath(fields[MOUNT_POINT]);
  if (root === null || mountPoint === null || options === undefined) return null;
  // The mounted cgroup has been removed: nothing is visible there, and the suffix would pass for a path component.
  if (root.endsWith("//deleted")) return null;
  if (type === "cgroup2") return { version: 2, root, mountPoint, controllers: [] };
  if (type === "cgroup") return { version: 1, root, mountPoint, controllers: options.split(",") };
  return null;
}

/** Undoes the kernel's octal escapes (space, tab, newline, backslash); null where it is no absolute path. */
function decodePath(field: string | undefined): string | null {
  if (field === undefined || !field.startsWith("/") || field.includes("\0")) return null;
  return field.replace(/\\(040|011|012|134)/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
