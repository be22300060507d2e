/**
 * Schedule and confirm over real HTTP: how many requests a second, how long they take, what they cost the server in CPU
 * time, which part of a bare echo's throughput that is, and what the log and the metrics have of it.
 *
 * Workload: 32 kept connections, each with one request at a time; a schedule of 2 CPUs and 2 GiB, then the confirm of it
 * with a new sandbox id, which counts as two requests. The echo is sent the same two bodies. The schedulers are the built
 * one, in memory. Between rounds, not timed, the sandboxes are deleted and the nodes report.
 */
import { ChildServer } from "./child-server.ts";
import { type Contender, inTurns, median, percentile, print } from "./measuring.ts";
import { PairLoad, type PairsRun } from "./pair-load.ts";

const FEW = 10;
const MANY = 1_000;
const CONNECTIONS = 32;
const PAIRS = 3_000;
const ROUNDS = 9;
const WARM_UPS = 5;

interface Round {
  readonly requestsPerSecond: number;
  /** Of the server's process, per request. */
  readonly cpuUs: number;
  readonly durationsMs: readonly number[];
}

class PairRounds {
  readonly #server: ChildServer;
  readonly #load: PairLoad;

  constructor(server: ChildServer) {
    this.#server = server;
    this.#load = new PairLoad(server.url, { connections: CONNECTIONS });
  }

  async echo(): Promise<Round> {
    return this.#timed(() => this.#load.echo(PAIRS));
  }

  async scheduler(nodes: number): Promise<Round> {
    await this.#load.reportNodes(nodes);
    const round = await this.#timed(() => this.#load.schedule(PAIRS));
    await this.#load.deleteSandboxes();
    return round;
  }

  close(): void {
    this.#load.close();
  }

  async #timed(run: () => Promise<PairsRun>): Promise<Round> {
    const beforeUs = this.#server.cpuUs();
    const { totalMs, durationsMs } = await run();
    const cpuUs = (this.#server.cpuUs() - beforeUs) / durationsMs.length;
    return { requestsPerSecond: (durationsMs.length * 1000) / totalMs, cpuUs, durationsMs };
  }
}

/**
 * Two processes of the same program differ by more than the log costs, in how they were compiled and where their memory
 * lies: each server is started that often, and all its rounds count alike.
 */
const INSTANCES = 2;

/** Each in processes of its own. */
const SERVERS = [
  { name: "echo", start: () => ChildServer.startEcho(), nodes: null },
  { name: `${FEW} nodes`, start: () => ChildServer.startScheduler(), nodes: FEW },
  { name: `${MANY} nodes`, start: () => ChildServer.startScheduler(), nodes: MANY },
  { name: `${FEW} nodes, no log`, start: () => ChildServer.startSilentScheduler(), nodes: FEW },
  {
    name: `${FEW} nodes, no metrics`,
    start: () => ChildServer.startScheduler("none", ["--no-metrics"]),
    nodes: FEW,
  },
] as const;

const running = await Promise.all(
  Array.from({ length: INSTANCES }, () => SERVERS)
    .flat()
    .map(async ({ name, start, nodes }, position) => {
      const server = await start();
      return { id: `${name} ${position}`, name, server, nodes, rounds: new PairRounds(server) };
    }),
);
const contenders: Contender<Round>[] = running.map(({ id, nodes, rounds }) => ({
  name: id,
  round: () => (nodes === null ? rounds.echo() : rounds.scheduler(nodes)),
}));
const results = await inTurns(contenders, { rounds: ROUNDS, warmUps: WARM_UPS });
for (const { rounds } of running) rounds.close();
await Promise.all(running.map(({ server }) => server.stop()));

const roundsOf = (name: string): readonly Round[] =>
  running.filter((each) => each.name === name).flatMap(({ id }) => results.get(id) ?? []);
const throughput = (name: string): number => median(roundsOf(name).map((round) => round.requestsPerSecond));
const cpuUs = (name: string): number => median(roundsOf(name).map((round) => round.cpuUs));
/** What the whole has more than one without a part, in per cent of the whole. */
const costPercent = (without: string): number => 100 * (1 - cpuUs(without) / cpuUs(`${FEW} nodes`));
const rows = SERVERS.map(({ name }) => {
  const durationsMs = roundsOf(name).flatMap((round) => round.durationsMs);
  const [p50, p99] = [percentile(durationsMs, 50), percentile(durationsMs, 99)];
  return [
    name,
    String(Math.round(throughput(name))),
    p50.toFixed(2),
    p99.toFixed(2),
    (throughput(name) / throughput("echo")).toFixed(2),
    cpuUs(name).toFixed(1),
    (cpuUs("echo") / cpuUs(name)).toFixed(2),
  ];
});
const sizes = [FEW, MANY];
print("bench:http", {
  workload: [
    `schedule + confirm of 2 CPUs and 2 GiB, ${PAIRS} pairs a round over ${CONNECTIONS} connections, medians of`,
    `${ROUNDS} rounds of each of ${INSTANCES} processes in turns; the echo is a bare Fastify route that is sent the same bodies. CPU is that of the`,
    "server's process, per request; OF ECHO says which part of the echo's throughput, and of its requests per CPU second.",
  ],
  header: ["SERVER", "REQUESTS/s", "P50 ms", "P99 ms", "OF ECHO", "CPU µs", "OF ECHO"],
  rows,
  figures: {
    ...Object.fromEntries(
      sizes.flatMap((nodes) => [
        [`requests_per_s_${nodes}`, Math.round(throughput(`${nodes} nodes`))],
        [`of_echo_${nodes}`, (throughput(`${nodes} nodes`) / throughput("echo")).toFixed(2)],
        [`of_echo_per_cpu_${nodes}`, (cpuUs("echo") / cpuUs(`${nodes} nodes`)).toFixed(2)],
      ]),
    ),
    log_cost_percent: costPercent(`${FEW} nodes, no log`).toFixed(1),
    metrics_cost_percent: costPercent(`${FEW} nodes, no metrics`).toFixed(1),
  },
});
