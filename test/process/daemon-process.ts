import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { systemClock } from "../../src/ports/clock.ts";
import { type SocketAnswer, socketRequest } from "./socket-client.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");
/** A start loads TypeScript and worker threads on a machine that runs other tests at the same time. */
const START_DEADLINE_MS = 20_000;
/** Answers are looked at this often; every wait has a state that it waits for. */
const POLL_MS = 20;
const WAIT_DEADLINE_MS = 10_000;

export interface DaemonOptions {
  readonly args?: readonly string[];
  /** Fixture tree, or a copy of one, whose `proc` and `sys` stand in for the kernel's; absent: the real kernel. */
  readonly tree?: string;
  /** Where to serve; absent: in a temporary folder of the daemon's own; null: the daemon is not told. */
  readonly socket?: string | null;
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
  /** Hard and soft limit of open files. */
  readonly openFilesMax?: number;
  /** Descriptors that the daemon has open from its beginning. */
  readonly inherited?: readonly number[];
}

export interface ResourceAnswer {
  readonly cpu: number;
  readonly mem: number;
  readonly storage?: number;
  readonly xpu: readonly unknown[];
  readonly features: readonly string[];
  readonly utilization: Readonly<Record<"cpu" | "memory" | "pid" | "fd" | "disk", number | null>>;
}

export interface LogLine {
  readonly level: number;
  readonly msg: string;
}

/** A real `evenkeel daemon`, run from its source. `await using` ends it whatever happens. */
export class DaemonProcess implements AsyncDisposable {
  readonly socket: string;
  readonly #folder: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<number | null>;
  #stderr = "";

  constructor({ args = [], tree, socket, env = {}, uid, openFilesMax, inherited = [] }: DaemonOptions) {
    this.#folder = mkdtempSync(join(tmpdir(), "evenkeel-daemon-"));
    this.socket = socket ?? join(this.#folder, "resource.sock");
    const roots = tree === undefined ? [] : ["--proc", join(tree, "proc"), "--sys", join(tree, "sys")];
    const place = socket === null ? [] : ["--socket", this.socket];
    const command = [process.execPath, MAIN, "daemon", ...place, ...roots, ...args];
    const limited =
      openFilesMax === undefined ? command : ["/bin/sh", "-c", `ulimit -n ${openFilesMax}; exec "$0" "$@"`, ...command];
    const [program = "", ...rest] = limited;
    this.#child = spawn(program, rest, {
      stdio: ["ignore", "ignore", "pipe", ...inherited],
      env: { ...cleanEnvironment(), ...env },
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    this.#exited = once(this.#child, "close").then(() => this.#child.exitCode);
    process.once("exit", this.#kill);
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error("the daemon could not be spawned");
    return this.#child.pid;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** The lines of its log so far. */
  get log(): readonly LogLine[] {
    const lines = this.#stderr.split("\n").filter((line) => line.startsWith("{") && line.endsWith("}"));
    return lines.map((line) => JSON.parse(line) as LogLine);
  }

  logged(part: string): number {
    return this.log.filter(({ msg }) => msg.includes(part)).length;
  }

  get serving(): boolean {
    return this.logged("serving GET /resource") > 0;
  }

  /** Resolves once it serves (`serving`) or is gone: its exit code, null after a signal. */
  async outcome(): Promise<"serving" | number | null> {
    let gone: { code: number | null } | null = null;
    this.#exited.then((code) => {
      gone = { code };
    });
    return vi.waitFor(
      () => {
        if (gone !== null) return (gone as { code: number | null }).code;
        if (!this.serving) throw new Error(`the daemon neither serves nor ends:\n${this.#stderr}`);
        return "serving" as const;
      },
      { timeout: START_DEADLINE_MS, interval: POLL_MS },
    );
  }

  get(path: string, method = "GET"): Promise<SocketAnswer> {
    return socketRequest({ socketPath: this.socket, path, method });
  }

  async resource(): Promise<ResourceAnswer> {
    const { status, body } = await this.get("/resource");
    if (status !== 200) throw new Error(`/resource answered ${status}`);
    return JSON.parse(body) as ResourceAnswer;
  }

  /** Polls `/resource` until `isIt` holds; throws with the last answer and the daemon's log at the deadline. */
  until(isIt: (answer: ResourceAnswer) => boolean, timeout = WAIT_DEADLINE_MS): Promise<ResourceAnswer> {
    return vi.waitFor(
      async () => {
        const answer = await this.resource();
        if (!isIt(answer)) throw new Error(`still ${JSON.stringify(answer)}\n${this.#stderr}`);
        return answer;
      },
      { timeout, interval: POLL_MS },
    );
  }

  /** Waits until every source has been heard, so that the answer only changes with a refresh. */
  async settled(): Promise<void> {
    await this.untilMetrics((text) => !/outcome="missed"\} 1/.test(text));
  }

  untilMetrics(isIt: (text: string) => boolean): Promise<string> {
    return vi.waitFor(
      async () => {
        const { body } = await this.get("/metrics");
        if (!isIt(body)) throw new Error(`still ${body}`);
        return body;
      },
      { timeout: WAIT_DEADLINE_MS, interval: POLL_MS },
    );
  }

  /** Waits until that is the outcome of the source's last tick. */
  async untilOutcome(source: string, outcome: "ok" | "none" | "failed" | "missed"): Promise<void> {
    await this.untilMetrics((text) => sampleOf(text, outcomeSeries(source, outcome)) === "1");
  }

  /** Waits until `source` has been sampled `count` times more: its age starts anew with each. */
  async ticks(count: number, source: string): Promise<void> {
    let seen = 0;
    let lastAge = 0;
    await this.untilMetrics((text) => {
      const age = Number(sampleOf(text, `evenkeel_sample_age_seconds{source="${source}"}`));
      if (age < lastAge) seen++;
      lastAge = age;
      return seen >= count;
    });
  }

  /** Threads that the kernel counts for it. */
  get threadCount(): number {
    return readdirSync(`/proc/${this.pid}/task`).length;
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  exited(): Promise<number | null> {
    return this.#exited;
  }

  /** Sends a signal and waits for the end: its exit code and how long it took. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<{ code: number | null; tookMs: number }> {
    const startedMs = systemClock.monotonicMs();
    this.signal(signal);
    const code = await this.#exited;
    return { code, tookMs: systemClock.monotonicMs() - startedMs };
  }

  readonly #kill = (): void => void this.#child.kill("SIGKILL");

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill();
    await this.#exited;
    process.off("exit", this.#kill);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Starts a daemon and waits until it serves and has heard of every source. */
export async function startDaemon(options: DaemonOptions): Promise<DaemonProcess> {
  const daemon = new DaemonProcess(options);
  try {
    const outcome = await daemon.outcome();
    if (outcome !== "serving") throw new Error(`the daemon ended with ${outcome}:\n${daemon.stderr}`);
    // An interval shorter than a thread's start lets the daemon serve before its samplers have said anything.
    await daemon.settled();
    return daemon;
  } catch (thrown) {
    await daemon[Symbol.asyncDispose]();
    throw thrown;
  }
}

/** The value of one series in Prometheus text format; null when it is not there. */
export function sampleOf(text: string, series: string): string | null {
  const line = text.split("\n").find((each) => each.startsWith(`${series} `));
  return line?.slice(series.length + 1) ?? null;
}

/** No setting of whoever runs the tests reaches a program; what means a state directory names one of its own. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(EVENKEEL_|NODE_OPTIONS$|XDG_RUNTIME_DIR$)/.test(name),
  );
  return { ...Object.fromEntries(kept), EVENKEEL_STATE_DIR: "none" };
}

/** The series of `/metrics` that is 1 when that was the outcome of the source's last tick. */
export function outcomeSeries(source: string, outcome: "ok" | "none" | "failed" | "missed"): string {
  return `evenkeel_sample_outcome{source="${source}",outcome="${outcome}"}`;
}

/** What is used of memory, as the kernel says it at this moment. */
export function memoryRatioNow(): number {
  const text = readFileSync("/proc/meminfo", "utf8");
  const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1]);
  return (kib("MemTotal") - kib("MemAvailable")) / kib("MemTotal");
}
