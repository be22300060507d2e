/**
 * Schedule and confirm over real HTTP: how many requests a second, how long they take, and which part of a bare echo's
 * throughput that is.
 *
 * Workload: 32 kept connections, each with one request at a time; a schedule of 2 CPUs and 2 GiB, then the confirm of it
 * with a new sandbox id, which counts as two requests. The echo is sent the same two bodies. The scheduler is the built
 * one, in memory. Between rounds, not timed, the sandboxes are deleted and the nodes report.
 */

import { systemClock } from "../src/ports/clock.ts";
import { ChildServer } from "./child-server.ts";
import { Connection, expectOk, runOver } from "./http-load.ts";
import { type Contender, inTurns, median, percentile, print } from "./measuring.ts";

const SIZES = [10, 1_000];
const CONNECTIONS = 32;
const PAIRS = 3_000;
const ROUNDS = 7;
const WARM_UPS = 3;
const SCHEDULE_BODY = '{"hint":{"new_cold_sandbox":{"cpu_count":2,"memory_mb":2048}}}';
const TOKEN = /"token":"([^"]+)"/;

interface Round {
  readonly requestsPerSecond: number;
  readonly durationsMs: readonly number[];
}

class PairRounds {
  readonly #connections: readonly Connection[];
  #sandboxes = 0;

  constructor({ url }: ChildServer) {
    this.#connections = Array.from({ length: CONNECTIONS }, () => new Connection(url));
  }

  async echo(): Promise<Round> {
    return this.#timed(async (send, sandboxId) => {
      await send("/echo", SCHEDULE_BODY);
      await send("/echo", confirmBody(sandboxId));
    });
  }

  async scheduler(nodes: number): Promise<Round> {
    await runOver(this.#connections, nodes, (connection, position) => report(connection, position));
    const made: string[] = [];
    const round = await this.#timed(async (send, sandboxId) => {
      const token = TOKEN.exec(await send("/v1/schedule", SCHEDULE_BODY))?.[1];
      await send(`/v1/reservations/${token}/confirm`, confirmBody(sandboxId));
      made.push(sandboxId);
    });
    await runOver(this.#connections, made.length, async (connection, number) => {
      await expectOk(connection, "DELETE", `/v1/sandboxes/${made[number]}`);
    });
    return round;
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  async #timed(
    pair: (send: (path: string, body: string) => Promise<string>, sandboxId: string) => Promise<void>,
  ): Promise<Round> {
    const durationsMs: number[] = [];
    const totalMs = await runOver(this.#connections, PAIRS, async (connection) => {
      const send = async (path: string, body: string): Promise<string> => {
        const startMs = systemClock.monotonicMs();
        const answer = await expectOk(connection, "POST", path, body);
        durationsMs.push(systemClock.monotonicMs() - startMs);
        return answer;
      };
      await pair(send, `sandbox-${this.#sandboxes++}`);
    });
    return { requestsPerSecond: (durationsMs.length * 1000) / totalMs, durationsMs };
  }
}

function confirmBody(sandboxId: string): string {
  return `{"sandbox_id":"${sandboxId}"}`;
}

let sequence = 0;

/** Nodes large enough that none is ever full. */
async function report(connection: Connection, position: number): Promise<void> {
  sequence += 1;
  const snapshot = { cpu_count: 100_000, memory_total_bytes: 2 ** 50 };
  const instance = { endpoint: `n${position}.example:443`, service_instance_id: "instance", sequence };
  await expectOk(connection, "POST", `/v1/nodes/n${position}/heartbeat`, JSON.stringify({ ...instance, snapshot }));
}

const echo = await ChildServer.startEcho();
const schedulers = await Promise.all(SIZES.map(() => ChildServer.startScheduler()));
const echoRounds = new PairRounds(echo);
const schedulerRounds = schedulers.map((scheduler) => new PairRounds(scheduler));
const contenders: Contender<Round>[] = [
  { name: "echo", round: () => echoRounds.echo() },
  ...schedulerRounds.map((rounds, index) => {
    const nodes = SIZES[index] ?? 0;
    return { name: `${nodes} nodes`, round: () => rounds.scheduler(nodes) };
  }),
];
const results = await inTurns(contenders, { rounds: ROUNDS, warmUps: WARM_UPS });
for (const rounds of [echoRounds, ...schedulerRounds]) rounds.close();
await Promise.all([echo, ...schedulers].map((server) => server.stop()));

const throughput = (name: string): number => median((results.get(name) ?? []).map((round) => round.requestsPerSecond));
const rows = contenders.map(({ name }) => {
  const durationsMs = (results.get(name) ?? []).flatMap((round) => round.durationsMs);
  const [p50, p99] = [percentile(durationsMs, 50), percentile(durationsMs, 99)];
  const share = throughput(name) / throughput("echo");
  return [name, String(Math.round(throughput(name))), p50.toFixed(2), p99.toFixed(2), share.toFixed(2)];
});
print("bench:http", {
  workload: [
    `schedule + confirm of 2 CPUs and 2 GiB, ${PAIRS} pairs a round over ${CONNECTIONS} connections, medians of`,
    `${ROUNDS} rounds in turns; the echo is a bare Fastify route that is sent the same bodies.`,
  ],
  header: ["SERVER", "REQUESTS/s", "P50 ms", "P99 ms", "OF ECHO"],
  rows,
  figures: Object.fromEntries(
    SIZES.flatMap((nodes) => [
      [`requests_per_s_${nodes}`, Math.round(throughput(`${nodes} nodes`))],
      [`of_echo_${nodes}`, (throughput(`${nodes} nodes`) / throughput("echo")).toFixed(2)],
    ]),
  ),
});
