/**
 * Schedule over gRPC: how many calls a second over one connection and over 64, and which part of a bare unary method's
 * throughput on the same library that is.
 *
 * Workload: 64 calls at a time, a schedule of 2 CPUs and 2 GiB each, as gateways of the old protocol send it, on 1 000
 * nodes. Each server has a process of its own, the scheduler is the built one, in memory; the client is the library's,
 * and costs more than either server: the server's CPU time per call stands beside the throughput.
 * Between rounds, not timed, the reservations are cancelled.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { credentials } from "@grpc/grpc-js";
import { ReservationsClient } from "../src/messages/proto/generated/evenkeel/v1/reservations.ts";
import {
  HeartbeatRequest,
  type ScheduleRequest,
  SchedulerClient,
} from "../src/messages/proto/generated/scheduler/v1/scheduler.ts";
import { systemClock } from "../src/ports/clock.ts";
import { ChildServer } from "./child-server.ts";
import { type Contender, inTurns, median, percentile, print } from "./measuring.ts";

const NODES = 1_000;
const AT_A_TIME = 64;
const CALLS = 3_000;
const ROUNDS = 7;
const WARM_UPS = 3;

const value = { cpuCount: 2, memoryMb: 2048n, images: [], metadata: {} };
const REQUEST: ScheduleRequest = { hint: { kind: { $case: "newColdSandbox", value } } };

interface Round {
  readonly callsPerSecond: number;
  /** Of the server's process. */
  readonly cpuUsPerCall: number;
  readonly durationsMs: readonly number[];
}

/** A connection of its own for each client. */
function connectTo({ url }: ChildServer, connections: number): SchedulerClient[] {
  const own = { "grpc.use_local_subchannel_pool": 1 };
  return Array.from({ length: connections }, () => new SchedulerClient(url, credentials.createInsecure(), own));
}

function schedule(client: SchedulerClient): Promise<void> {
  return new Promise((resolve, reject) => {
    client.schedule(REQUEST, (error) => (error === null ? resolve() : reject(error)));
  });
}

/** `count` pieces of work, so many at a time, spread over the clients. */
async function runOver<Client>(
  clients: readonly Client[],
  count: number,
  work: (client: Client, number: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lanes = Array.from({ length: AT_A_TIME }, async (_, lane) => {
    const client = clients[lane % clients.length];
    if (client === undefined) return;
    while (next < count) await work(client, next++);
  });
  await Promise.all(lanes);
}

async function timed(server: ChildServer, clients: readonly SchedulerClient[]): Promise<Round> {
  const durationsMs: number[] = [];
  const cpuBeforeUs = server.cpuUs();
  const startMs = systemClock.monotonicMs();
  await runOver(clients, CALLS, async (client) => {
    const sentMs = systemClock.monotonicMs();
    await schedule(client);
    durationsMs.push(systemClock.monotonicMs() - sentMs);
  });
  const callsPerSecond = (CALLS * 1000) / (systemClock.monotonicMs() - startMs);
  return { callsPerSecond, cpuUsPerCall: (server.cpuUs() - cpuBeforeUs) / CALLS, durationsMs };
}

async function report(client: SchedulerClient, position: number): Promise<void> {
  const request = HeartbeatRequest.fromPartial({
    nodeId: nodeId(position),
    serviceInstanceId: "1",
    snapshot: { status: 1, cpuCount: 100_000, memoryTotalBytes: 2n ** 50n },
  });
  await new Promise<void>((resolve, reject) => {
    client.heartbeat(request, (error) => (error === null ? resolve() : reject(error)));
  });
}

function nodeId(position: number): string {
  return `node-${String(position).padStart(4, "0")}`;
}

async function cancelAll(reservations: ReservationsClient): Promise<void> {
  const ids = await new Promise<string[]>((resolve, reject) => {
    reservations.list({ nodeId: "", state: 1, limit: 10_000, cursor: "" }, (error, answer) =>
      error === null ? resolve(answer.reservations.map(({ id }) => id)) : reject(error),
    );
  });
  await runOver([reservations], ids.length, async (client, number) => {
    await new Promise<void>((resolve, reject) => {
      client.cancel({ token: ids[number] ?? "", reason: "" }, (error) => (error === null ? resolve() : reject(error)));
    });
  });
}

const folder = mkdtempSync(join(tmpdir(), "evenkeel-bench-grpc-"));
const file = join(folder, "scheduler.json");
const nodes = Array.from({ length: NODES }, (_, position) => ({
  id: nodeId(position),
  endpoint: `http://${nodeId(position)}.example:8000`,
}));
writeFileSync(file, JSON.stringify({ nodes, report_ttl: "1h" }));
const [echo, scheduler] = await Promise.all([ChildServer.startGrpcEcho(), ChildServer.startGrpcScheduler(file)]);
const reservations = new ReservationsClient(scheduler.url, credentials.createInsecure());
const [one = [], many = []] = [connectTo(scheduler, 1), connectTo(scheduler, AT_A_TIME)];
const [echoOne = [], echoMany = []] = [connectTo(echo, 1), connectTo(echo, AT_A_TIME)];
await runOver(one, NODES, report);

const afterwards = async (round: Promise<Round>): Promise<Round> => {
  const measured = await round;
  await cancelAll(reservations);
  return measured;
};
const contenders: Contender<Round>[] = [
  { name: "echo, 1 connection", round: () => timed(echo, echoOne) },
  { name: "schedule, 1 connection", round: () => afterwards(timed(scheduler, one)) },
  { name: `echo, ${AT_A_TIME} connections`, round: () => timed(echo, echoMany) },
  { name: `schedule, ${AT_A_TIME} connections`, round: () => afterwards(timed(scheduler, many)) },
];
const results = await inTurns(contenders, { rounds: ROUNDS, warmUps: WARM_UPS });

for (const client of [...one, ...many, ...echoOne, ...echoMany, reservations]) client.close();
await Promise.all([echo.stop(), scheduler.stop()]);
rmSync(folder, { recursive: true, force: true });

const throughput = (name: string): number => median((results.get(name) ?? []).map((round) => round.callsPerSecond));
/** Medians of the ratios within one round each: what drifts on the machine meets both. */
const ofEcho = (connections: string): number => {
  const bare = results.get(`echo, ${connections}`) ?? [];
  const ours = results.get(`schedule, ${connections}`) ?? [];
  return median(ours.map((round, index) => round.callsPerSecond / (bare[index]?.callsPerSecond ?? Number.NaN)));
};
const shares = { one: ofEcho("1 connection"), many: ofEcho(`${AT_A_TIME} connections`) };
const rows = contenders.map(({ name }) => {
  const durationsMs = (results.get(name) ?? []).flatMap((round) => round.durationsMs);
  const share = name.startsWith("echo") ? 1 : name.endsWith(" 1 connection") ? shares.one : shares.many;
  const times = [percentile(durationsMs, 50), percentile(durationsMs, 99)].map((ms) => ms.toFixed(2));
  const cpuUs = median((results.get(name) ?? []).map((round) => round.cpuUsPerCall));
  return [name, String(Math.round(throughput(name))), ...times, share.toFixed(2), String(Math.round(cpuUs))];
});
print("bench:grpc", {
  workload: [
    `Schedule of 2 CPUs and 2 GiB on ${NODES} nodes, ${AT_A_TIME} calls at a time, ${CALLS} a round, medians of ${ROUNDS} rounds`,
    "in turns; the echo is a bare unary method on the same library, with the same messages.",
  ],
  header: ["CALL", "CALLS/s", "P50 ms", "P99 ms", "OF ECHO", "SERVER CPU µs/CALL"],
  rows,
  figures: {
    calls_per_s_1: Math.round(throughput("schedule, 1 connection")),
    of_echo_1: shares.one.toFixed(2),
    [`calls_per_s_${AT_A_TIME}`]: Math.round(throughput(`schedule, ${AT_A_TIME} connections`)),
    [`of_echo_${AT_A_TIME}`]: shares.many.toFixed(2),
  },
});
