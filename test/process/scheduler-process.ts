import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { vi } from "vitest";
import { systemClock } from "../../src/ports/clock.ts";
import { cleanEnvironment, type LogLine } from "./daemon-process.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");
/** A start loads TypeScript on a machine that runs other tests at the same time. */
const START_DEADLINE_MS = 20_000;
const POLL_MS = 20;

interface SchedulerLogLine extends LogLine {
  readonly http?: string;
}

/** A real `evenkeel scheduler`, run from its source, on a port of its own. `await using` ends it whatever happens. */
export class SchedulerProcess implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #stderr: { text: string };
  readonly #exited: Promise<number | null>;

  private constructor(url: string, child: ChildProcess, stderr: { text: string }, exited: Promise<number | null>) {
    this.url = url;
    this.#child = child;
    this.#stderr = stderr;
    this.#exited = exited;
  }

  static async start(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<SchedulerProcess> {
    const child = spawn(process.execPath, [MAIN, "scheduler", "--http", "127.0.0.1:0", ...args], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...cleanEnvironment(), ...env },
    });
    const stderr = { text: "" };
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr.text += text;
    });
    const exited = once(child, "close").then(() => child.exitCode);
    try {
      const ended = exited.then((code): never => {
        throw new Error(`the scheduler has ended with ${code}:\n${stderr.text}`);
      });
      const serving = vi.waitFor(
        () => {
          const serving = linesOf(stderr.text).find(({ msg }) => msg.startsWith("serving the HTTP API"));
          if (serving?.http === undefined) throw new Error(`the scheduler does not serve:\n${stderr.text}`);
          return serving.http;
        },
        { timeout: START_DEADLINE_MS, interval: POLL_MS },
      );
      // Whichever comes second has nobody to tell.
      for (const one of [serving, ended]) one.catch(() => undefined);
      const url = await Promise.race([serving, ended]);
      return new SchedulerProcess(url, child, stderr, exited);
    } catch (thrown) {
      child.kill("SIGKILL");
      throw thrown;
    }
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get log(): readonly SchedulerLogLine[] {
    return linesOf(this.#stderr.text);
  }

  get stderr(): string {
    return this.#stderr.text;
  }

  async call<Body>(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
    const sent =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const response = await fetch(`${this.url}${path}`, { method, ...sent });
    const text = await response.text();
    return { status: response.status, body: (text === "" ? null : JSON.parse(text)) as Body };
  }

  /** Sends a signal and waits for the end: its exit code and how long it took. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<{ code: number | null; tookMs: number }> {
    const startedMs = systemClock.monotonicMs();
    this.#child.kill(signal);
    const code = await this.#exited;
    return { code, tookMs: systemClock.monotonicMs() - startedMs };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }
}

function linesOf(text: string): SchedulerLogLine[] {
  const lines = text.split("\n").filter((line) => line.startsWith("{") && line.endsWith("}"));
  return lines.map((line) => JSON.parse(line) as SchedulerLogLine);
}
