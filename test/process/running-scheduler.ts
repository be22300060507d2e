import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import type { WireNode } from "../../src/messages/http/node.ts";
import type { WireReservation } from "../../src/messages/http/reservation.ts";
import { RunningProgram } from "./running-program.ts";

const WAIT_DEADLINE_MS = 20_000;
const POLL_MS = 20;

export interface SchedulerOptions {
  readonly args?: readonly string[];
  /** Listens there again, as one that was restarted does; absent: a free port. */
  readonly port?: number;
  /** Contents of a configuration file, as JSON. */
  readonly config?: object;
}

/** A real `evenkeel scheduler`, and what it says over its own API. */
export class RunningScheduler implements AsyncDisposable {
  readonly url: string;
  readonly #program: RunningProgram;
  readonly #folder: string;

  private constructor(url: string, program: RunningProgram, folder: string) {
    this.url = url;
    this.#program = program;
    this.#folder = folder;
  }

  static async start({ args = [], port = 0, config }: SchedulerOptions = {}): Promise<RunningScheduler> {
    const folder = mkdtempSync(join(tmpdir(), "evenkeel-scheduler-"));
    const file = join(folder, "scheduler.json");
    if (config !== undefined) writeFileSync(file, JSON.stringify(config));
    const configured = config === undefined ? [] : ["--config", file];
    const program = new RunningProgram(["scheduler", "--http", `127.0.0.1:${port}`, ...configured, ...args]);
    try {
      const [, url = ""] = await program.says(/serving the HTTP API on (http:\/\/[\w.:]+)/);
      return new RunningScheduler(url, program, folder);
    } catch (thrown) {
      await program[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  get stderr(): string {
    return this.#program.stderr;
  }

  stop(signal?: NodeJS.Signals): Promise<{ code: number | null; tookMs: number }> {
    return this.#program.stop(signal);
  }

  async call<T>(path: string, body?: object): Promise<T> {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const response = await fetch(`${this.url}${path}`, body === undefined ? {} : init);
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer as T;
  }

  async nodes(): Promise<WireNode[]> {
    return (await this.call<{ nodes: WireNode[] }>("/v1/nodes")).nodes;
  }

  async reservations(state: WireReservation["state"]): Promise<WireReservation[]> {
    const answer = await this.call<{ reservations: WireReservation[] }>(`/v1/reservations?state=${state}`);
    return answer.reservations;
  }

  async reservation(id: string): Promise<WireReservation> {
    return (await this.call<{ reservation: WireReservation }>(`/v1/reservations/${id}`)).reservation;
  }

  /** Polls a node until `isIt` holds. */
  untilNode(nodeId: string, isIt: (node: WireNode) => boolean): Promise<WireNode> {
    return vi.waitFor(
      async () => {
        const node = (await this.nodes()).find((each) => each.node_id === nodeId);
        if (node === undefined || !isIt(node)) throw new Error(`still ${JSON.stringify(node)}`);
        return node;
      },
      { timeout: WAIT_DEADLINE_MS, interval: POLL_MS },
    );
  }

  /** A ledger node of that size, which says nothing more. */
  async addLedgerNode(nodeId: string, { cpu, memoryGib }: { cpu: number; memoryGib: number }): Promise<void> {
    await this.call(`/v1/nodes/${nodeId}/heartbeat`, {
      service_instance_id: `instance-of-${nodeId}`,
      endpoint: `${nodeId}.example:9000`,
      inventory: "none",
      boot_id: "boot-1",
      resource: { cpu, mem: memoryGib * 2 ** 30, xpu: [], features: [], utilization: {} },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
