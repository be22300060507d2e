import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { vi } from "vitest";
import { cleanEnvironment } from "./daemon-process.ts";

const PROGRAM = join(import.meta.dirname, "gateway-stub-program.ts");
const WAIT_DEADLINE_MS = 20_000;
const POLL_MS = 10;

/** A request as the node received it. */
export interface SeenRequest {
  readonly node: string;
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly bodyBytes: number;
  readonly sha256: string;
}

/** A stub node in a process of its own. */
export class StubNode implements AsyncDisposable {
  readonly nodeId: string;
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  private constructor(nodeId: string, url: string, child: ChildProcess) {
    this.nodeId = nodeId;
    this.url = url;
    this.#child = child;
    this.#exited = once(child, "close");
    process.once("exit", this.#kill);
  }

  /** Started, and reported to the scheduler once. */
  static async start(nodeId: string, scheduler: string, cpuCount = 64): Promise<StubNode> {
    const child = spawn(process.execPath, [PROGRAM, nodeId, scheduler, String(cpuCount)], {
      stdio: ["ignore", "pipe", "inherit"],
      env: cleanEnvironment(),
    });
    const [port] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
    const node = new StubNode(nodeId, `http://127.0.0.1:${port.trim()}`, child);
    await node.report();
    return node;
  }

  /** One heartbeat with the roster as it is. */
  async report(): Promise<void> {
    const { status } = await this.#control<{ status: number }>("report");
    if (status !== 200) throw new Error(`the scheduler answered a heartbeat with ${status}`);
  }

  /** What it received since it was last asked. */
  seen(): Promise<SeenRequest[]> {
    return this.#control("seen");
  }

  sandboxes(): Promise<string[]> {
    return this.#control("sandboxes");
  }

  /** Its creates that wait for `release`, or for ever. */
  async held(): Promise<number> {
    return (await this.#control<{ held: number }>("held")).held;
  }

  async untilHeld(count: number): Promise<void> {
    await vi.waitFor(
      async () => {
        const held = await this.held();
        if (held !== count) throw new Error(`${held} creates are held, not ${count}`);
      },
      { timeout: WAIT_DEADLINE_MS, interval: POLL_MS },
    );
  }

  async release(): Promise<void> {
    await this.#control("release");
  }

  /** Every sandbox ends. */
  async clear(): Promise<void> {
    await this.#control("clear");
  }

  /** From here on it closes each connection before it reads from it. */
  async closeConnections(): Promise<void> {
    await this.#control("close-connections");
  }

  async kill(): Promise<void> {
    this.#kill();
    await this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    process.off("exit", this.#kill);
  }

  readonly #kill = (): void => void this.#child.kill("SIGKILL");

  async #control<T>(what: string): Promise<T> {
    const response = await fetch(`${this.url}/control/${what}`, { headers: { connection: "close" } });
    return (await response.json()) as T;
  }
}
