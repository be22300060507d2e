/** A server in a process of its own, so that what it costs is its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Ticks per second of /proc/<pid>/stat on Linux, fixed for user space (proc(5), sysconf(_SC_CLK_TCK)). */
const TICKS_PER_SECOND = 100;

export class ChildServer {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
  }

  /** The built scheduler, as it ships; `npm run build` comes first. */
  static startScheduler(): Promise<ChildServer> {
    return ChildServer.#start(["../dist/main.js", "scheduler", "--http", "127.0.0.1:0"]);
  }

  static startEcho(): Promise<ChildServer> {
    return ChildServer.#start(["./echo-server.ts"]);
  }

  static async #start([script, ...args]: readonly [string, ...string[]]): Promise<ChildServer> {
    const path = fileURLToPath(new URL(script, import.meta.url));
    const child = spawn(process.execPath, [path, ...args], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    const url = await new Promise<string>((resolve, reject) => {
      child.stderr?.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-10_000);
        const match = /serving the HTTP API on (http:\/\/[\w.:]+)/.exec(said);
        if (match?.[1] !== undefined) resolve(match[1]);
      });
      child.once("exit", () => reject(new Error(`${script} has ended:\n${said}`)));
    });
    return new ChildServer(url, child);
  }

  /** CPU time of the process so far, user and system, of all its threads, in milliseconds. */
  cpuMs(): number {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, "utf8");
    // The name of the program, in parentheses, may hold blanks; utime and stime are fields 14 and 15 (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await once(this.#child, "exit");
  }
}
