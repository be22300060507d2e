import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** State of a listening socket in `/proc/net/tcp` (proc_pid_net(5); the numbers are those of the kernel's tcp_states.h). */
const LISTEN = "0A";

/**
 * Who listens on a TCP port, in words such as `evenkeel (process 4711)`; null when that cannot be seen, as for processes
 * of other users. Reads every process's descriptors, which is only worth it for an error message.
 */
export function describePortHolder(proc: string, port: number): string | null {
  const inodes = new Set(["tcp", "tcp6"].flatMap((table) => listeningInodes(join(proc, "net", table), port)));
  if (inodes.size === 0) return null;
  for (const pid of attempt(() => readdirSync(proc), [])) {
    if (/^\d+$/.test(pid) && holdsAny(join(proc, pid, "fd"), inodes)) {
      const name = attempt(() => readFileSync(join(proc, pid, "comm"), "utf8").trim(), "");
      return name === "" ? `process ${pid}` : `${name} (process ${pid})`;
    }
  }
  return null;
}

function listeningInodes(path: string, port: number): string[] {
  const portHex = port.toString(16).toUpperCase().padStart(4, "0");
  const lines = attempt(() => readFileSync(path, "utf8").split("\n").slice(1), []);
  return lines.flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    return state === LISTEN && local?.endsWith(`:${portHex}`) && inode !== undefined ? [inode] : [];
  });
}

function holdsAny(directory: string, inodes: ReadonlySet<string>): boolean {
  return attempt(() => readdirSync(directory), []).some((descriptor) => {
    const target = attempt(() => readlinkSync(join(directory, descriptor)), "");
    return inodes.has(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? "");
  });
}

/** Processes end while they are looked at, and those of others may not be. */
function attempt<Value>(read: () => Value, otherwise: Value): Value {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
