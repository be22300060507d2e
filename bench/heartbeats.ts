/**
 * What heartbeats cost the scheduler, in CPU time of its process, against a bare Fastify route that takes the same bodies
 * at the same time.
 *
 * Workload: 1 000 nodes, each reporting every 5 s with a snapshot, a roster of 20 sandboxes and a daemon's resource. One
 * sandbox of each roster is another one each time. Both servers are sent every body, taking turns at being the first.
 */
import { systemClock } from "../src/ports/clock.ts";
import { ChildServer } from "./child-server.ts";
import { bodyOf } from "./heartbeat-body.ts";
import { Connection, expectOk } from "./http-load.ts";
import { median, print } from "./measuring.ts";

const NODES = 1_000;
const INTERVAL_MS = 5_000;
const SANDBOXES = 20;
/** One round is one interval. */
const ROUNDS = 8;
/**
 * Before them, as many rounds as fast as they go, which register the nodes and let both servers compile: each runs for
 * days, and is compiled within its first minutes.
 */
const WARM_UPS = 20;
const CONNECTIONS = 16;

class Sender {
  readonly server: ChildServer;
  readonly #connections: readonly Connection[];

  constructor(server: ChildServer) {
    this.server = server;
    this.#connections = Array.from({ length: CONNECTIONS }, () => new Connection(server.url));
  }

  /** A connection has sent its last one when this one is due: 16 of them are a hundred times as many as it takes. */
  async send(position: number, body: string): Promise<void> {
    const connection = this.#connections[position % CONNECTIONS];
    if (connection !== undefined) await expectOk(connection, "POST", `/v1/nodes/node-${position}/heartbeat`, body);
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}

/** Sends one round to both, evenly over the interval. CPU time of each meanwhile, in milliseconds. */
async function runRound(senders: readonly [Sender, Sender], round: number): Promise<readonly [number, number]> {
  const [left, right] = senders;
  const before = [left.server.cpuUs() / 1_000, right.server.cpuUs() / 1_000] as const;
  const startMs = systemClock.monotonicMs();
  for (let position = 0; position < NODES; position++) {
    await until(startMs + (position * INTERVAL_MS) / NODES);
    const body = bodyOf({ position, round, sandboxes: SANDBOXES });
    const [first, second] = position % 2 === 0 ? [left, right] : [right, left];
    await first.send(position, body);
    await second.send(position, body);
  }
  await until(startMs + INTERVAL_MS);
  return [left.server.cpuUs() / 1_000 - before[0], right.server.cpuUs() / 1_000 - before[1]];
}

/** Sends one round to both as fast as they take it. */
async function warmUp([left, right]: readonly [Sender, Sender], round: number): Promise<void> {
  for (let first = 0; first < NODES; first += CONNECTIONS) {
    const positions = Array.from({ length: Math.min(CONNECTIONS, NODES - first) }, (_, index) => first + index);
    await Promise.all(
      positions.map(async (position) => {
        const body = bodyOf({ position, round, sandboxes: SANDBOXES });
        await left.send(position, body);
        await right.send(position, body);
      }),
    );
  }
}

async function until(atMs: number): Promise<void> {
  const leftMs = atMs - systemClock.monotonicMs();
  if (leftMs > 0) await new Promise<void>((resolve) => void systemClock.after(leftMs, resolve));
}

const [scheduler, echo] = await Promise.all([ChildServer.startScheduler(), ChildServer.startEcho()]);
const senders = [new Sender(scheduler), new Sender(echo)] as const;
const measured: (readonly [number, number])[] = [];
for (let round = 0; round < WARM_UPS; round++) await warmUp(senders, round);
for (let round = WARM_UPS; round < WARM_UPS + ROUNDS; round++) measured.push(await runRound(senders, round));
for (const sender of senders) sender.close();
await Promise.all([scheduler, echo].map((server) => server.stop()));

const [schedulerMs, echoMs] = [0, 1].map((index) => median(measured.map((round) => round[index] ?? Number.NaN)));
if (schedulerMs === undefined || echoMs === undefined) throw new Error("no rounds");
const row = (name: string, cpuMs: number): string[] => [
  name,
  cpuMs.toFixed(0),
  ((cpuMs * 1000) / NODES).toFixed(0),
  `${((cpuMs / INTERVAL_MS) * 100).toFixed(1)} %`,
  (cpuMs / echoMs).toFixed(2),
];
print("bench:heartbeats", {
  workload: [
    `${NODES} nodes, one heartbeat each every ${INTERVAL_MS / 1000} s with ${SANDBOXES} sandboxes, ${bodyOf({ position: 0, round: 0, sandboxes: SANDBOXES }).length} bytes;`,
    `the same bodies to both at the same time; medians of ${ROUNDS} intervals. CPU time is that of the whole process.`,
  ],
  header: ["SERVER", "CPU ms/INTERVAL", "µs/HEARTBEAT", "OF A CORE", "OF BARE ROUTE"],
  rows: [row("scheduler", schedulerMs), row("bare Fastify route", echoMs)],
  figures: {
    scheduler_us: Math.round((schedulerMs * 1000) / NODES),
    route_us: Math.round((echoMs * 1000) / NODES),
    ratio: (schedulerMs / echoMs).toFixed(2),
  },
});
