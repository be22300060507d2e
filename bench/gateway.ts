/**
 * Creates through the gateway, over real HTTP: how many a second, how long they take, and what they cost the gateway's
 * process, beside the same create sent to the node itself and through a bare proxy.
 *
 * Workload: 32 kept connections, each with one create at a time; a body of 200 bytes that asks for 2 CPUs and 2 GiB. The
 * node answers at once. Scheduler and gateway are the built ones, the scheduler in memory; every process runs on this
 * machine, client and node too. The gateway makes three calls of a create where the proxy makes one: it schedules,
 * sends it on, and confirms before it answers. Between rounds, not timed, the sandboxes are deleted.
 */
import { systemClock } from "../src/ports/clock.ts";
import { ChildServer } from "./child-server.ts";
import { Connection, expectOk, runOver } from "./http-load.ts";
import { reportLargeNode } from "./large-node.ts";
import { type Contender, inTurns, median, percentile, print } from "./measuring.ts";

const CONNECTIONS = 32;
const CREATES = 3_000;
const ROUNDS = 7;
const WARM_UPS = 3;
const SANDBOX_ID = /"sandboxID":"([^"]+)"/;
const CREATE_BODY = JSON.stringify({
  image: "registry.example/sandboxes/python:3.13",
  cpuCount: 2,
  memoryMB: 2048,
  timeout: 300,
  metadata: { tenant: "bench", purpose: "throughput" },
  envVars: { LANG: "C.UTF-8", HOME: "/root" },
});

interface Round {
  readonly createsPerSecond: number;
  readonly durationsMs: readonly number[];
  /** CPU time of the server that was asked, for each create. */
  readonly cpuUs: number;
}

class CreateRounds {
  readonly #server: ChildServer;
  readonly #connections: readonly Connection[];
  readonly #after: (sandboxIds: readonly string[]) => Promise<void>;

  /** `after` gets the sandboxes of each round. */
  constructor(server: ChildServer, after: (sandboxIds: readonly string[]) => Promise<void> = async () => undefined) {
    this.#server = server;
    this.#connections = Array.from({ length: CONNECTIONS }, () => new Connection(server.url));
    this.#after = after;
  }

  async run(): Promise<Round> {
    const durationsMs: number[] = [];
    const made: string[] = [];
    const beforeUs = this.#server.cpuUs();
    const totalMs = await runOver(this.#connections, CREATES, async (connection) => {
      const startMs = systemClock.monotonicMs();
      const answer = await expectOk(connection, "POST", "/sandboxes-cold", CREATE_BODY);
      durationsMs.push(systemClock.monotonicMs() - startMs);
      made.push(SANDBOX_ID.exec(answer)?.[1] ?? "");
    });
    const cpuUs = (this.#server.cpuUs() - beforeUs) / CREATES;
    await this.#after(made);
    return { createsPerSecond: (CREATES * 1000) / totalMs, durationsMs, cpuUs };
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}

const [node, scheduler] = await Promise.all([ChildServer.startNode(), ChildServer.startScheduler()]);
const [proxy, gateway] = await Promise.all([ChildServer.startProxy(node.url), ChildServer.startGateway(scheduler.url)]);
const admin = Array.from({ length: CONNECTIONS }, () => new Connection(scheduler.url));

async function report(): Promise<void> {
  const [connection] = admin;
  if (connection !== undefined) await reportLargeNode(connection, "n1", node.url);
}

/** What was made is gone again, and the node reports: one that is silent is no candidate. */
async function clear(sandboxIds: readonly string[]): Promise<void> {
  await runOver(admin, sandboxIds.length, async (connection, number) => {
    await expectOk(connection, "DELETE", `/v1/sandboxes/${sandboxIds[number]}`);
  });
  await report();
}

await report();
const servers = {
  node: new CreateRounds(node),
  proxy: new CreateRounds(proxy),
  gateway: new CreateRounds(gateway, clear),
};
const contenders: Contender<Round>[] = Object.entries(servers).map(([name, rounds]) => ({
  name,
  round: () => rounds.run(),
}));
const results = await inTurns(contenders, { rounds: ROUNDS, warmUps: WARM_UPS });
for (const rounds of Object.values(servers)) rounds.close();
for (const connection of admin) connection.close();
for (const server of [gateway, proxy, scheduler, node]) await server.stop();

const middle = (name: keyof typeof servers, of: (round: Round) => number): number =>
  median((results.get(name) ?? []).map(of));
const throughput = (name: keyof typeof servers): number => middle(name, (round) => round.createsPerSecond);
const cpuUs = (name: keyof typeof servers): number => middle(name, (round) => round.cpuUs);
const NAMES = { node: "the node itself", proxy: "bare proxy", gateway: "gateway" } as const;
const rows = (["node", "proxy", "gateway"] as const).map((name) => {
  const durationsMs = (results.get(name) ?? []).flatMap((round) => round.durationsMs);
  const [p50, p99] = [percentile(durationsMs, 50), percentile(durationsMs, 99)];
  const share = throughput(name) / throughput("proxy");
  return [
    NAMES[name],
    String(Math.round(throughput(name))),
    p50.toFixed(2),
    p99.toFixed(2),
    String(Math.round(cpuUs(name))),
    share.toFixed(2),
    (cpuUs(name) / cpuUs("proxy")).toFixed(2),
  ];
});
print("bench:gateway", {
  workload: [
    `creates of 2 CPUs and 2 GiB, ${CREATES} a round over ${CONNECTIONS} connections, medians of ${ROUNDS} rounds in turns;`,
    "the gateway schedules, sends on and confirms; the proxy is a bare Fastify with reply-from that sends on.",
  ],
  header: ["SERVER", "CREATES/s", "P50 ms", "P99 ms", "CPU µs", "CREATES/s OF PROXY", "CPU OF PROXY"],
  rows,
  figures: {
    creates_per_s: Math.round(throughput("gateway")),
    of_proxy: (throughput("gateway") / throughput("proxy")).toFixed(2),
    cpu_us: Math.round(cpuUs("gateway")),
    cpu_of_proxy: (cpuUs("gateway") / cpuUs("proxy")).toFixed(2),
  },
});
