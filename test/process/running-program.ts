import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { vi } from "vitest";
import { systemClock } from "../../src/ports/clock.ts";
import { cleanEnvironment } from "./daemon-process.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");
/** A start loads TypeScript on a machine that runs other tests at the same time. */
const WAIT_DEADLINE_MS = 20_000;
const POLL_MS = 20;

/** An `evenkeel` that runs until it is stopped, from its source. `await using` ends it whatever happens. */
export class RunningProgram implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<number | null>;
  #stdout = "";
  #stderr = "";

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.#child = spawn(process.execPath, [MAIN, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...cleanEnvironment(), ...env },
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    this.#exited = once(this.#child, "close").then(() => this.#child.exitCode);
    process.once("exit", this.#kill);
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Waits until it has said what matches, on either stream. Throws when it ends before. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    return vi.waitFor(
      () => {
        const match = pattern.exec(this.#stdout) ?? pattern.exec(this.#stderr);
        if (match === null) throw new Error(`it has not said ${pattern}:\n${this.#stdout}\n${this.#stderr}`);
        return match;
      },
      { timeout: WAIT_DEADLINE_MS, interval: POLL_MS },
    );
  }

  /** Waits for its end. Returns the exit code, null when a signal ended it. */
  ended(): Promise<number | null> {
    return this.#exited;
  }

  /** Sends a signal and waits for the end: its exit code and how long it took. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<{ code: number | null; tookMs: number }> {
    const startedMs = systemClock.monotonicMs();
    this.#child.kill(signal);
    const code = await this.#exited;
    return { code, tookMs: systemClock.monotonicMs() - startedMs };
  }

  readonly #kill = (): void => void this.#child.kill("SIGKILL");

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill();
    await this.#exited;
    process.off("exit", this.#kill);
  }
}
