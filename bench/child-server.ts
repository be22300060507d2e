/** A server in a process of its own, so that what it costs is its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Ticks per second of /proc/<pid>/stat on Linux, fixed for user space (proc(5), sysconf(_SC_CLK_TCK)). */
const TICKS_PER_SECOND = 100;

export class ChildServer {
  /** Of the HTTP API; host and port of the gRPC one. */
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
  }

  /** The built scheduler, as it ships, in memory unless it is given a directory; `npm run build` comes first. */
  static startScheduler(stateDir = "none", flags: readonly string[] = []): Promise<ChildServer> {
    const own = ["--http", "127.0.0.1:0", "--state-dir", stateDir];
    return ChildServer.#start(["../dist/main.js", "scheduler", ...own, ...flags]);
  }

  static startEcho(): Promise<ChildServer> {
    return ChildServer.#start(["./echo-server.ts"]);
  }

  /** The same, and the address of its gRPC API. `configuration` is a file. */
  static startGrpcScheduler(configuration: string): Promise<ChildServer> {
    const inMemory = ["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--state-dir", "none"];
    return ChildServer.#start(["../dist/main.js", "scheduler", "--config", configuration, ...inMemory], "gRPC");
  }

  static startGrpcEcho(): Promise<ChildServer> {
    return ChildServer.#start(["./grpc-echo-server.ts"], "gRPC");
  }

  static async #start([script, ...args]: readonly [string, ...string[]], api = "HTTP"): Promise<ChildServer> {
    const path = fileURLToPath(new URL(script, import.meta.url));
    const child = spawn(process.execPath, [path, ...args], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    const url = await new Promise<string>((resolve, reject) => {
      child.stderr?.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-10_000);
        const match = /serving the (HTTP|gRPC) API on ([\w.:/]+)/g;
        for (const [, served, at] of said.matchAll(match)) if (served === api && at !== undefined) resolve(at);
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

  /** Memory of the process that is in RAM now (proc(5), VmRSS). */
  residentBytes(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await once(this.#child, "exit");
  }
}
