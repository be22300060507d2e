/**
 * Where the kernel's virtual files are read. A fixture tree replaces them in tests (`--proc`, `--sys`); cgroup files are
 * then still read at the mount points that `<proc>/self/mountinfo` names.
 */
export interface KernelRoots {
  readonly proc: string;
  readonly sys: string;
}

export const systemRoots: KernelRoots = { proc: "/proc", sys: "/sys" };
