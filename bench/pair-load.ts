/**
 * Pairs of requests as a caller of the scheduler sends them: a schedule of 2 CPUs and 2 GiB, then the confirm of it with a
 * new sandbox id, over kept connections with one request at a time on each.
 */
import { systemClock } from "../src/ports/clock.ts";
import { Connection, expectOk, runOver } from "./http-load.ts";
import { reportLargeNode } from "./large-node.ts";

const SCHEDULE_BODY = '{"hint":{"new_cold_sandbox":{"cpu_count":2,"memory_mb":2048}}}';
const TOKEN = /"token":"([^"]+)"/;

/** Sends a body, expects success, and returns the answer. */
type Send = (path: string, body: string) => Promise<string>;

/** Two requests, the second with `sandboxId`. */
type Pair = (send: Send, sandboxId: string) => Promise<void>;

const schedulerPair: Pair = async (send, sandboxId) => {
  const token = TOKEN.exec(await send("/v1/schedule", SCHEDULE_BODY))?.[1];
  await send(`/v1/reservations/${token}/confirm`, confirmBody(sandboxId));
};

/** The same two bodies, to a server that sends back what it gets. */
const echoPair: Pair = async (send, sandboxId) => {
  await send("/echo", SCHEDULE_BODY);
  await send("/echo", confirmBody(sandboxId));
};

function confirmBody(sandboxId: string): string {
  return `{"sandbox_id":"${sandboxId}"}`;
}

/** What came of a number of pairs. */
export interface PairsRun {
  readonly totalMs: number;
  /** Of each request. */
  readonly durationsMs: readonly number[];
}

export interface PairLoadOptions {
  readonly connections: number;
  /** Begins the ids of the sandboxes; another one for every load of a server. */
  readonly name?: string;
}

export class PairLoad {
  readonly #connections: readonly Connection[];
  readonly #name: string;
  #sandboxes = 0;
  /** Confirmed, and not deleted yet. */
  #made: string[] = [];

  constructor(url: string, { connections, name = "sandbox" }: PairLoadOptions) {
    this.#connections = Array.from({ length: connections }, () => new Connection(url));
    this.#name = name;
  }

  /** Before each round, not timed: the nodes report. */
  async reportNodes(nodes: number): Promise<void> {
    await runOver(this.#connections, nodes, (connection, position) => reportLargeNode(connection, `n${position}`));
  }

  async schedule(pairs: number): Promise<PairsRun> {
    return this.#run(pairs, async (send, sandboxId) => {
      await schedulerPair(send, sandboxId);
      this.#made.push(sandboxId);
    });
  }

  async echo(pairs: number): Promise<PairsRun> {
    return this.#run(pairs, echoPair);
  }

  /** After each round, not timed: what was made is gone again. */
  async deleteSandboxes(): Promise<void> {
    const made = this.#made;
    this.#made = [];
    await runOver(this.#connections, made.length, async (connection, number) => {
      await expectOk(connection, "DELETE", `/v1/sandboxes/${made[number]}`);
    });
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  async #run(pairs: number, pair: Pair): Promise<PairsRun> {
    const durationsMs: number[] = [];
    const totalMs = await runOver(this.#connections, pairs, async (connection) => {
      const send: Send = async (path, body) => {
        const startMs = systemClock.monotonicMs();
        const answer = await expectOk(connection, "POST", path, body);
        durationsMs.push(systemClock.monotonicMs() - startMs);
        return answer;
      };
      await pair(send, `${this.#name}-${this.#sandboxes++}`);
    });
    return { totalMs, durationsMs };
  }
}
