import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { cleanEnvironment } from "./daemon-process.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");
/** A command that ends by itself does so long before; one that hangs is killed and has no exit code. */
const COMMAND_DEADLINE_MS = 20_000;

export interface CommandResult {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
}

/** Starts `evenkeel` from its source. Standard output is a pipe; the caller ends it. */
export function startEvenkeel(args: readonly string[], { env = {}, uid }: CommandOptions = {}): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...cleanEnvironment(), ...env },
    timeout: COMMAND_DEADLINE_MS,
    killSignal: "SIGKILL",
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
}

/** Runs `evenkeel` to its end. */
export async function evenkeel(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const child = startEvenkeel(args, options);
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  await once(child, "close");
  return { code: child.exitCode, stdout, stderr };
}
