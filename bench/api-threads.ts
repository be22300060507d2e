/**
 * What API threads cost and take off the main thread: CPU time of each kind of thread for a request, and requests a
 * second, with 1, 2 and 3 of them.
 *
 * Workload: 64 kept connections, each with one request at a time; a schedule of 2 CPUs and 2 GiB, then the confirm of it
 * with a new sandbox id, which counts as two requests. The schedulers are the built one, in memory, with 10 nodes. Between
 * rounds, not timed, the sandboxes are deleted and the nodes report. On a machine of few cores the requests a second say
 * little; the CPU times say how many API threads one placement thread can feed.
 */
import { ChildServer } from "./child-server.ts";
import { Connection, expectOk, runOver } from "./http-load.ts";
import { type Contender, inTurns, median, print } from "./measuring.ts";

const THREADS = [1, 2, 3];
const NODES = 10;
const CONNECTIONS = 64;
const PAIRS = 4_000;
const ROUNDS = 5;
const WARM_UPS = 3;
const SCHEDULE_BODY = '{"hint":{"new_cold_sandbox":{"cpu_count":2,"memory_mb":2048}}}';
const TOKEN = /"token":"([^"]+)"/;

interface Round {
  readonly requestsPerSecond: number;
  /** CPU time of a request, by kind of thread. */
  readonly mainUs: number;
  readonly workersUs: number;
  /** Garbage collection and compilation, beside the threads that they serve. */
  readonly otherUs: number;
}

class ThreadRounds {
  readonly #server: ChildServer;
  readonly #connections: readonly Connection[];
  #sandboxes = 0;
  #sequence = 0;

  constructor(server: ChildServer) {
    this.#server = server;
    this.#connections = Array.from({ length: CONNECTIONS }, () => new Connection(server.url));
  }

  async round(): Promise<Round> {
    this.#sequence += 1;
    await runOver(this.#connections, NODES, (connection, position) => this.#report(connection, position));
    const made: string[] = [];
    const before = this.#cpuUs();
    const totalMs = await runOver(this.#connections, PAIRS, async (connection) => {
      const token = TOKEN.exec(await expectOk(connection, "POST", "/v1/schedule", SCHEDULE_BODY))?.[1];
      const sandboxId = `sandbox-${this.#sandboxes++}`;
      await expectOk(connection, "POST", `/v1/reservations/${token}/confirm`, `{"sandbox_id":"${sandboxId}"}`);
      made.push(sandboxId);
    });
    const after = this.#cpuUs();
    await runOver(this.#connections, made.length, async (connection, number) => {
      await expectOk(connection, "DELETE", `/v1/sandboxes/${made[number]}`);
    });
    const requests = 2 * PAIRS;
    const spent = (kind: "main" | "workers" | "other"): number => (after[kind] - before[kind]) / requests;
    const requestsPerSecond = (requests * 1000) / totalMs;
    return { requestsPerSecond, mainUs: spent("main"), workersUs: spent("workers"), otherUs: spent("other") };
  }

  async stop(): Promise<void> {
    for (const connection of this.#connections) connection.close();
    await this.#server.stop();
  }

  /** Nodes large enough that none is ever full. */
  async #report(connection: Connection, position: number): Promise<void> {
    const snapshot = { cpu_count: 100_000, memory_total_bytes: 2 ** 50 };
    const instance = {
      endpoint: `n${position}.example:443`,
      service_instance_id: "instance",
      sequence: this.#sequence,
    };
    await expectOk(connection, "POST", `/v1/nodes/n${position}/heartbeat`, JSON.stringify({ ...instance, snapshot }));
  }

  #cpuUs(): { readonly main: number; readonly workers: number; readonly other: number } {
    const sums = { main: 0, workers: 0, other: 0 };
    for (const { name, cpuNs } of this.#server.threadCpuNs().values()) {
      const kind = name === "MainThread" ? "main" : name === "WorkerThread" ? "workers" : "other";
      sums[kind] += cpuNs / 1000;
    }
    return sums;
  }
}

const runs = await Promise.all(
  THREADS.map(async (count) => {
    const server = await ChildServer.startScheduler("none", ["--api-threads", String(count)]);
    return { count, rounds: new ThreadRounds(server) };
  }),
);
const contenders: Contender<Round>[] = runs.map(({ count, rounds }) => ({
  name: String(count),
  round: () => rounds.round(),
}));
const results = await inTurns(contenders, { rounds: ROUNDS, warmUps: WARM_UPS });
for (const { rounds } of runs) await rounds.stop();

const middle = (name: string, of: (round: Round) => number): number => median((results.get(name) ?? []).map(of));
const rows = contenders.map(({ name }) => [
  name,
  String(Math.round(middle(name, (round) => round.requestsPerSecond))),
  middle(name, ({ mainUs }) => mainUs).toFixed(1),
  middle(name, ({ workersUs }) => workersUs).toFixed(1),
  middle(name, ({ otherUs }) => otherUs).toFixed(1),
]);
print("bench:api-threads", {
  workload: [
    `schedule + confirm of 2 CPUs and 2 GiB, ${PAIRS} pairs a round over ${CONNECTIONS} connections, medians of`,
    `${ROUNDS} rounds in turns; CPU time of a request in the main thread, in all API threads together, and in V8's.`,
  ],
  header: ["API THREADS", "REQUESTS/s", "MAIN µs", "API µs", "V8 µs"],
  rows,
  figures: Object.fromEntries(
    THREADS.flatMap((count) => [
      [`main_us_${count}`, middle(String(count), ({ mainUs }) => mainUs).toFixed(1)],
      [`api_us_${count}`, middle(String(count), ({ workersUs }) => workersUs).toFixed(1)],
    ]),
  ),
});
