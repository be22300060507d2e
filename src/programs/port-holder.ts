import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename, join } from "node:path";

/** State of a listening socket in `/proc/net/tcp` (proc_pid_net(5); the numbers are those of the kernel's tcp_states.h). */
const LISTEN = "0A";

/** Enough to tell one's programs apart, and the complaint stays on one line. */
const COMMAND_LENGTH_MAX = 60;

/**
 * Who listens on a TCP port, in words such as `node main.js scheduler (process 4711)`; null when that cannot be seen, as for processes
 * of other users. Reads every process's descriptors, which is only worth it for an error message.
 */
export function describePortHolder(proc: string, port: number): string | null {
  const inodes = new Set(["tcp", "tcp6"].flatMap((table) => listeningInodes(join(proc, "net", table), port)));
  if (inodes.size === 0) return null;
  for (const pid of attempt(() => readdirSync(proc), [])) {
    if (/^\d+$/.test(pid) && holdsAny(join(proc, pid, "fd"), inodes)) {
      const command = commandOf(join(proc, pid));
      return command === "" ? `process ${pid}` : `${command} (process ${pid})`;
    }
  }
  return null;
}

/**
 * The command line of a process, shortened: paths by their last part, since the folders say least. Its name is no use:
 * Node calls its main thread `MainThread`, whatever it runs. Empty where it cannot be seen (proc_pid_cmdline(5)).
 */
function commandOf(directory: string): string {
  const words = attempt(() => readFileSync(join(directory, "cmdline"), "utf8"), "").split("\0");
  const shown = words.map((word) => (word.startsWith("/") ? basename(word) : word)).join(" ");
  // A command line can hold anything; a terminal must not obey it.
  const command = shown.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
  if (command === "") return attempt(() => readFileSync(join(directory, "comm"), "utf8").trim(), "");
  return command.length <= COMMAND_LENGTH_MAX ? command : `${command.slice(0, COMMAND_LENGTH_MAX - 1)}…`;
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
