/**
 * What API threads cost and take off the main thread: CPU time of each kind of thread for a request, requests a second,
 * and memory, idle and under load, with 1, 2 and 3 of them. One is the main thread itself.
 *
 * Workload: 64 kept connections, each with one request at a time; a schedule of 2 CPUs and 2 GiB, then the confirm of it
 * with a new sandbox id, which counts as two requests. The schedulers are the built one, in memory, with 10 nodes. Between
 * rounds, not timed, the sandboxes are deleted and the nodes report. On a machine of few cores the requests a second say
 * little; the CPU times say how many API threads one placement thread can feed.
 */
import { ChildServer } from "./child-server.ts";
import { type Contender, inTurns, median, print } from "./measuring.ts";
import { PairLoad } from "./pair-load.ts";

const THREADS = [1, 2, 3];
const NODES = 10;
const CONNECTIONS = 64;
const PAIRS = 4_000;
const ROUNDS = 5;
const WARM_UPS = 3;

interface Round {
  readonly requestsPerSecond: number;
  /** CPU time of a request, by kind of thread. */
  readonly mainUs: number;
  readonly workersUs: number;
  /** Garbage collection and compilation, beside the threads that they serve. */
  readonly otherUs: number;
  /** Memory of the process that is in RAM after it. */
  readonly residentBytes: number;
}

class ThreadRounds {
  readonly #server: ChildServer;
  readonly #load: PairLoad;

  constructor(server: ChildServer) {
    this.#server = server;
    this.#load = new PairLoad(server.url, { connections: CONNECTIONS });
  }

  async round(): Promise<Round> {
    await this.#load.reportNodes(NODES);
    const before = this.#cpuUs();
    const { totalMs, durationsMs } = await this.#load.schedule(PAIRS);
    const after = this.#cpuUs();
    await this.#load.deleteSandboxes();
    const requests = durationsMs.length;
    const spent = (kind: "main" | "workers" | "other"): number => (after[kind] - before[kind]) / requests;
    return {
      requestsPerSecond: (requests * 1000) / totalMs,
      mainUs: spent("main"),
      workersUs: spent("workers"),
      otherUs: spent("other"),
      residentBytes: this.#server.residentBytes(),
    };
  }

  async stop(): Promise<void> {
    this.#load.close();
    await this.#server.stop();
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
    const idleBytes = server.residentBytes();
    return { count, idleBytes, rounds: new ThreadRounds(server) };
  }),
);
const contenders: Contender<Round>[] = runs.map(({ count, rounds }) => ({
  name: String(count),
  round: () => rounds.round(),
}));
const results = await inTurns(contenders, { rounds: ROUNDS, warmUps: WARM_UPS });
for (const { rounds } of runs) await rounds.stop();

const middle = (name: string, of: (round: Round) => number): number => median((results.get(name) ?? []).map(of));
const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
const rows = runs.map(({ count, idleBytes }) => {
  const name = String(count);
  return [
    name,
    String(Math.round(middle(name, (round) => round.requestsPerSecond))),
    middle(name, ({ mainUs }) => mainUs).toFixed(1),
    middle(name, ({ workersUs }) => workersUs).toFixed(1),
    middle(name, ({ otherUs }) => otherUs).toFixed(1),
    mebibytes(idleBytes),
    mebibytes(middle(name, ({ residentBytes }) => residentBytes)),
  ];
});
print("bench:api-threads", {
  workload: [
    `schedule + confirm of 2 CPUs and 2 GiB, ${PAIRS} pairs a round over ${CONNECTIONS} connections, medians of`,
    `${ROUNDS} rounds in turns; CPU time of a request in the main thread, in all API threads together, and in V8's;`,
    "memory of the process that is in RAM, once it listens and after a round.",
  ],
  header: ["API THREADS", "REQUESTS/s", "MAIN µs", "API µs", "V8 µs", "IDLE MiB", "LOADED MiB"],
  rows,
  figures: Object.fromEntries(
    runs.flatMap(({ count, idleBytes }) => [
      [`main_us_${count}`, middle(String(count), ({ mainUs }) => mainUs).toFixed(1)],
      [`api_us_${count}`, middle(String(count), ({ workersUs }) => workersUs).toFixed(1)],
      [`idle_mib_${count}`, mebibytes(idleBytes)],
      [`loaded_mib_${count}`, mebibytes(middle(String(count), ({ residentBytes }) => residentBytes))],
    ]),
  ),
});
