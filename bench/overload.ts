/**
 * A scheduler that is offered three times what it can do: how much of its peak it still does, how long an accepted
 * request takes, and whether its memory grows.
 *
 * Workload: pairs of a schedule (2 CPUs, 2 GiB) and the cancel of what it reserved. First the peak: 64 connections, the
 * next pair as soon as one is done. Then, for as long, three times as many pairs a second begin at even distances,
 * whatever has become of those before (an open loop), over 1 000 connections; one that has found none free for a second
 * is given up by its caller, as behind the bound of a gateway's pool. Meanwhile one
 * connection asks for `/healthz`. Takes two minutes and a half; `--seconds N` makes it shorter.
 */
import { parseArgs } from "node:util";
import { systemClock as clock } from "../src/ports/clock.ts";
import { pause } from "../src/ports/pause.ts";
import { ChildServer } from "./child-server.ts";
import { Connection, expectOk } from "./http-load.ts";
import { reportLargeNode } from "./large-node.ts";
import { median, percentile, print } from "./measuring.ts";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "60" } } });
const SECONDS = Number(values.seconds);
const OVERLOAD = 3;
const NODES = 50;
const PEAK_CONNECTIONS = 64;
const CONNECTIONS = 1_000;
const WARM_UP_SECONDS = 10;
/** Ended reservations are remembered up to a bound; the warm-up reaches it, so that growth is growth. */
const REMEMBERED = 5_000;
const ARRIVALS_EVERY_MS = 5;
/** How long a request waits for a free connection before its caller gives up. */
const PATIENCE_SECONDS = 1;

const SCHEDULE = '{"hint":{"new_cold_sandbox":{"cpu_count":2,"memory_mb":2048}}}';
const TOKEN = /"token":"([^"]+)"/;

/** What one phase saw. */
class Tally {
  accepted = 0;
  refused = 0;
  givenUp = 0;
  readonly scheduleMs: number[] = [];
  readonly cancelMs: number[] = [];
  readonly healthMs: number[] = [];
}

async function timed<T>(durationsMs: number[], run: () => Promise<T>): Promise<T> {
  const startMs = clock.monotonicMs();
  const result = await run();
  durationsMs.push(clock.monotonicMs() - startMs);
  return result;
}

async function pair(connection: Connection, tally: Tally): Promise<void> {
  const startMs = clock.monotonicMs();
  const { status, body } = await connection.request("POST", "/v1/schedule", SCHEDULE);
  if (status === 429) {
    tally.refused += 1;
    return;
  }
  if (status !== 200) throw new Error(`${status} ${body}`);
  tally.scheduleMs.push(clock.monotonicMs() - startMs);
  const path = `/v1/reservations/${TOKEN.exec(body)?.[1]}/cancel`;
  await timed(tally.cancelMs, async () => {
    // The lane of confirms and cancels has a bound of its own; whoever meets it comes again, as the answer asks for.
    while ((await connection.request("POST", path, "{}")).status === 429) await pause(clock, 1_000);
  });
  tally.accepted += 1;
}

/** As many pairs as the connections can do, one after the other on each. */
async function closedLoop(connections: readonly Connection[], seconds: number, tally: Tally): Promise<void> {
  const endMs = clock.monotonicMs() + seconds * 1_000;
  await Promise.all(
    connections.map(async (connection) => {
      while (clock.monotonicMs() < endMs) await pair(connection, tally);
    }),
  );
}

interface Offer {
  readonly pairsPerSecond: number;
  readonly seconds: number;
}

async function openLoop(connections: readonly Connection[], offer: Offer, tally: Tally): Promise<void> {
  const arrivals = offer.pairsPerSecond * offer.seconds;
  const free = [...connections];
  const running = new Set<Promise<void>>();
  let waiting = 0;
  const begin = (connection: Connection): void => {
    waiting -= 1;
    const run = pair(connection, tally).then(() => {
      running.delete(run);
      if (waiting >= 1) begin(connection);
      else free.push(connection);
    });
    running.add(run);
  };
  const startMs = clock.monotonicMs();
  for (let arrived = 0; arrived < arrivals; await pause(clock, ARRIVALS_EVERY_MS)) {
    const due = Math.min(arrivals, ((clock.monotonicMs() - startMs) / 1_000) * offer.pairsPerSecond);
    waiting += due - arrived;
    arrived = due;
    for (let connection = free.pop(); connection !== undefined; connection = free.pop()) {
      if (waiting >= 1) begin(connection);
      else {
        free.push(connection);
        break;
      }
    }
    const patient = offer.pairsPerSecond * PATIENCE_SECONDS;
    tally.givenUp += Math.max(0, waiting - patient);
    waiting = Math.min(waiting, patient);
  }
  waiting = 0;
  await Promise.all(running);
}

/** CPU time of the scheduler meanwhile, in microseconds: on a machine that others use, too, it says what wall time cannot. */
async function cpuOf(phase: () => Promise<void>): Promise<number> {
  const beforeUs = scheduler.cpuUs();
  await phase();
  return scheduler.cpuUs() - beforeUs;
}

/** Runs a phase while somebody asks whether the scheduler lives. */
async function watched(tally: Tally, phase: () => Promise<void>): Promise<void> {
  const probe = new Connection(scheduler.url);
  let over = false;
  const asking = (async () => {
    while (!over) {
      await timed(tally.healthMs, () => expectOk(probe, "GET", "/healthz", ""));
      await pause(clock, 100);
    }
  })();
  await phase();
  over = true;
  await asking;
  probe.close();
}

const scheduler = await ChildServer.startScheduler("none", [
  ...["--remembered-reservations-max", String(REMEMBERED)],
  // The nodes report once; what is measured is not them.
  ...["--report-ttl", "1h"],
]);
const open = (count: number): Connection[] => Array.from({ length: count }, () => new Connection(scheduler.url));
const control = new Connection(scheduler.url);
for (let number = 0; number < NODES; number++) await reportLargeNode(control, `n${number}`);

const few = open(PEAK_CONNECTIONS);
await closedLoop(few, Math.min(WARM_UP_SECONDS, SECONDS), new Tally());
const peak = new Tally();
const peakCpuUs = await cpuOf(() => watched(peak, () => closedLoop(few, SECONDS, peak)));
const peakPairs = peak.accepted / SECONDS;

const many = open(CONNECTIONS);
await openLoop(
  many,
  { pairsPerSecond: peakPairs * OVERLOAD, seconds: Math.min(WARM_UP_SECONDS, SECONDS) },
  new Tally(),
);
const overload = new Tally();
const residentBytes = [scheduler.residentBytes()];
const watchMemory = setInterval(() => residentBytes.push(scheduler.residentBytes()), 1_000);
const offer = { pairsPerSecond: peakPairs * OVERLOAD, seconds: SECONDS };
const overloadCpuUs = await cpuOf(() => watched(overload, () => openLoop(many, offer, overload)));
clearInterval(watchMemory);
for (const connection of [...few, ...many, control]) connection.close();
await scheduler.stop();

/** The first and the last third: what lies between is how the collector breathes. */
const third = Math.max(1, Math.floor(residentBytes.length / 3));
const early = median(residentBytes.slice(0, third));
const late = median(residentBytes.slice(-third));
const share = overload.accepted / SECONDS / peakPairs;
const perCpu = ({ accepted }: Tally, cpuUs: number): number => accepted / cpuUs;
const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
const rowOf = (name: string, tally: Tally): string[] => [
  name,
  String(Math.round(tally.accepted / SECONDS)),
  String(Math.round(tally.refused / SECONDS)),
  String(Math.round(tally.givenUp / SECONDS)),
  percentile(tally.scheduleMs, 50).toFixed(1),
  percentile(tally.scheduleMs, 99).toFixed(1),
  percentile(tally.cancelMs, 99).toFixed(1),
  percentile(tally.healthMs, 99).toFixed(1),
];
print("bench:overload", {
  workload: [
    `schedule + cancel of 2 CPUs and 2 GiB over ${NODES} nodes, ${SECONDS} s each: the peak of ${PEAK_CONNECTIONS} connections, then`,
    `${OVERLOAD} times as many pairs a second in an open loop over ${CONNECTIONS} connections.`,
    `Memory of the scheduler under overload: ${mebibytes(early)} MiB in the first third, ${mebibytes(late)} MiB in the last.`,
  ],
  header: [
    "OFFERED",
    "PAIRS/s",
    "REFUSED/s",
    "GIVEN UP/s",
    "SCHEDULE P50 ms",
    "P99 ms",
    "CANCEL P99 ms",
    "HEALTHZ P99 ms",
  ],
  rows: [rowOf("peak", peak), rowOf(`${OVERLOAD} × peak`, overload)],
  figures: {
    peak_pairs_per_s: Math.round(peakPairs),
    of_peak: share.toFixed(2),
    of_peak_per_cpu: (perCpu(overload, overloadCpuUs) / perCpu(peak, peakCpuUs)).toFixed(2),
    accepted_p99_ms: percentile(overload.scheduleMs, 99).toFixed(1),
    refused: overload.refused,
    memory_growth: (late / early).toFixed(2),
  },
});
