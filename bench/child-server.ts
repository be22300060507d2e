/** A server in a process of its own, so that what it costs is its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { systemClock } from "../src/ports/clock.ts";
import { pause } from "../src/ports/pause.ts";

/** What a server says when it can be called, and its address. */
const SAYS = {
  HTTP: /serving the HTTP API on ([\w.:/]+)/,
  gRPC: /serving the gRPC API on ([\w.:/]+)/,
  gateway: /forwarding what comes to ([\w.:/]+)/,
} as const;

/**
 * Of every scheduler, whatever machine it is measured on: with the usual number a bench would compare a program of several
 * threads with one of a single thread where there are four cores or more. A flag that comes later wins.
 */
const ONE_THREAD = ["--api-threads", "1"];

const SAID_LENGTH_MAX = 10_000;

export class ChildServer {
  /** Of the HTTP API; host and port of the gRPC one. */
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
  }

  /**
   * The built scheduler, in memory unless it is given a directory, with one API thread unless `flags` say another number;
   * `npm run build` comes first.
   */
  static startScheduler(stateDir = "none", flags: readonly string[] = []): Promise<ChildServer> {
    const own = ["--http", "127.0.0.1:0", "--state-dir", stateDir, ...ONE_THREAD];
    return ChildServer.#start(["../dist/main.js", "scheduler", ...own, ...flags]);
  }

  /** The same without a word: it is asked until it answers, on a port that was free. */
  static async startSilentScheduler(): Promise<ChildServer> {
    const port = await freePort();
    const own = ["--http", `127.0.0.1:${port}`, "--state-dir", "none", "--log-level", "silent", ...ONE_THREAD];
    const { child, failed } = run(["../dist/main.js", "scheduler", ...own]);
    const url = `http://127.0.0.1:${port}`;
    await Promise.race([untilReady(url), failed]);
    return new ChildServer(url, child);
  }

  static startEcho(): Promise<ChildServer> {
    return ChildServer.#start(["./echo-server.ts"]);
  }

  /** The same, and the address of its gRPC API. `configuration` is a file. */
  static startGrpcScheduler(configuration: string): Promise<ChildServer> {
    const inMemory = ["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--state-dir", "none", ...ONE_THREAD];
    return ChildServer.#start(["../dist/main.js", "scheduler", "--config", configuration, ...inMemory], "gRPC");
  }

  static startGrpcEcho(): Promise<ChildServer> {
    return ChildServer.#start(["./grpc-echo-server.ts"], "gRPC");
  }

  /** The built gateway, as it ships, before the scheduler at `scheduler`. */
  static startGateway(scheduler: string): Promise<ChildServer> {
    const own = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--scheduler", scheduler];
    return ChildServer.#start(["../dist/main.js", "gateway", ...own], "gateway");
  }

  /** A node's runtime: answers every create with 201 and the id of a sandbox. */
  static startNode(): Promise<ChildServer> {
    return ChildServer.#start(["./node-server.ts"]);
  }

  /** The least that any proxy on Fastify costs, before the server at `upstream`. */
  static startProxy(upstream: string): Promise<ChildServer> {
    return ChildServer.#start(["./proxy-server.ts", upstream]);
  }

  static async #start(
    [script, ...args]: readonly [string, ...string[]],
    api: keyof typeof SAYS = "HTTP",
  ): Promise<ChildServer> {
    const { child, failed } = run([script, ...args]);
    let said = "";
    const url = new Promise<string>((resolve) => {
      child.stderr?.on("data", (text: string) => {
        said = (said + text).slice(-SAID_LENGTH_MAX);
        const [, at] = SAYS[api].exec(said) ?? [];
        if (at !== undefined) resolve(at);
      });
    });
    return new ChildServer(await Promise.race([url, failed]), child);
  }

  /** CPU time of the process so far, of all its threads that still run, in microseconds. */
  cpuUs(): number {
    let cpuNs = 0;
    for (const thread of this.threadCpuNs().values()) cpuNs += thread.cpuNs;
    return cpuNs / 1_000;
  }

  /**
   * CPU time so far of each of its threads by thread id, in nanoseconds, with the name of the thread: the main thread's is
   * `MainThread`, workers are `WorkerThread`, the rest is V8's (proc(5), schedstat).
   */
  threadCpuNs(): Map<string, { readonly name: string; readonly cpuNs: number }> {
    const tasks = `/proc/${this.#child.pid}/task`;
    return new Map(
      readdirSync(tasks).map((task) => {
        const [cpuNs] = readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ");
        const name = readFileSync(`${tasks}/${task}/comm`, "utf8").trim();
        return [task, { name, cpuNs: Number(cpuNs) }];
      }),
    );
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

/** Starts a program; `failed` rejects with what it has said when it ends. */
function run([script, ...args]: readonly [string, ...string[]]): { child: ChildProcess; failed: Promise<never> } {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-SAID_LENGTH_MAX);
  });
  const failed = new Promise<never>((_, reject) => {
    child.once("exit", () => reject(new Error(`${script} has ended:\n${said}`)));
  });
  // It also ends when it is told to, and nobody waits for this then.
  failed.catch(() => undefined);
  return { child, failed };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function untilReady(url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    if (answer?.ok === true) return;
    await pause(systemClock, 50);
  }
}
