/**
 * What a node pays for its daemon, and what a consumer waits for it.
 *
 * Workload: the built daemon as its own process on this machine's kernel, filestore `/`. First without a client: its
 * resident memory, and the CPU time of all its threads over a number of refreshes, nothing subtracted. Then `/resource`
 * from 16 kept-alive connections, at full speed and at 1 000 requests/s (arrivals on a fixed beat, whatever has been
 * answered), in turns with a bare node:http server in a process of its own, which answers as many bytes.
 *
 * `node bench/daemon.ts [MAIN.js]`: another build than `dist/main.js`.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { systemClock } from "../src/ports/clock.ts";
import { KeepAliveClient } from "./keep-alive-client.ts";
import { inTurns, median, percentile, print } from "./measuring.ts";

const MAIN = resolve(process.argv[2] ?? join(import.meta.dirname, "../dist/main.js"));
const BARE = join(import.meta.dirname, "bare-http-server.ts");

/** Far more often than in operation, where it is every 5 s: enough refreshes for a figure in seconds. */
const REFRESH_MS = 200;
/** Until then compiling what runs often is most of the work; in operation that is over after some minutes. */
const SETTLING_REFRESHES = 75;
const MEASURED_REFRESHES = 75;

const CONNECTIONS = 16;
const REQUESTS_PER_SECOND = 1_000;
const PACED_MS = 2_000;
const FULL_SPEED_MS = 1_000;
const ROUNDS = 7;
const WARM_UPS = 2;

const REACH = { rssMib: 128, cpuMsPerRefresh: 5, p99Ratio: 1.5 };

interface Round {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const wait = (ms: number): Promise<void> => new Promise((done) => void systemClock.after(ms, done));

/** Memory and CPU of a daemon that nobody asks anything. */
async function measureIdle(socket: string): Promise<{ rssMib: number; cpuMsPerRefresh: number }> {
  const daemon = await startDaemon(socket, ["--interval", `${REFRESH_MS}ms`]);
  await wait(SETTLING_REFRESHES * REFRESH_MS);
  const before = { cpuMs: cpuMs(daemon), atMs: systemClock.monotonicMs() };
  await wait(MEASURED_REFRESHES * REFRESH_MS);
  const refreshes = (systemClock.monotonicMs() - before.atMs) / REFRESH_MS;
  const idle = { rssMib: rssMib(daemon), cpuMsPerRefresh: (cpuMs(daemon) - before.cpuMs) / refreshes };
  await end(daemon);
  return idle;
}

async function measureRequests(folder: string): Promise<Map<string, Round[]>> {
  const sockets = { daemon: join(folder, "served.sock"), bare: join(folder, "bare.sock") };
  const daemon = await startDaemon(sockets.daemon, []);
  const bodyBytes = await bodyBytesOf(sockets.daemon);
  const bare = spawn(process.execPath, [BARE, sockets.bare, String(bodyBytes)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(bare.stdout, "data");
  const rounds = await inTurns(
    [
      { name: "daemon", round: () => measureRound(sockets.daemon) },
      { name: "bare", round: () => measureRound(sockets.bare) },
    ],
    { rounds: ROUNDS, warmUps: WARM_UPS },
  );
  await Promise.all([end(daemon), end(bare)]);
  return rounds;
}

async function measureRound(socket: string): Promise<Round> {
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => KeepAliveClient.open(socket)));
  const perSecond = await atFullSpeed(clients);
  const latenciesMs = await paced(clients);
  for (const client of clients) client.close();
  return { perSecond, p50Ms: percentile(latenciesMs, 50), p99Ms: percentile(latenciesMs, 99) };
}

async function atFullSpeed(clients: readonly KeepAliveClient[]): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  let answered = 0;
  const run = async (client: KeepAliveClient): Promise<void> => {
    while (systemClock.monotonicMs() - startedMs < FULL_SPEED_MS) {
      await client.ask();
      answered++;
    }
  };
  await Promise.all(clients.map(run));
  return (answered / (systemClock.monotonicMs() - startedMs)) * 1000;
}

/** A request that finds no free connection waits for one, and that wait is part of its latency. */
async function paced(clients: readonly KeepAliveClient[]): Promise<readonly number[]> {
  const free = [...clients];
  const waiting: number[] = [];
  const latenciesMs: number[] = [];
  const total = (REQUESTS_PER_SECOND * PACED_MS) / 1000;
  const startedMs = systemClock.monotonicMs();
  const serve = async (client: KeepAliveClient, arrivedMs: number): Promise<void> => {
    for (let next: number | undefined = arrivedMs; next !== undefined; next = waiting.shift()) {
      await client.ask();
      latenciesMs.push(systemClock.monotonicMs() - next);
    }
    free.push(client);
  };
  for (let arrived = 0; latenciesMs.length < total; ) {
    // The beat may come late because this process was busy; that is not the server's doing, so arrival is now.
    const nowMs = systemClock.monotonicMs();
    const due = Math.min(total, ((nowMs - startedMs) * REQUESTS_PER_SECOND) / 1000);
    for (; arrived < due; arrived++) {
      const client = free.shift();
      if (client === undefined) waiting.push(nowMs);
      else void serve(client, nowMs);
    }
    await wait(1);
  }
  return latenciesMs;
}

async function startDaemon(socket: string, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, [MAIN, "daemon", "--socket", socket, "--filestore", "/", ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  let log = "";
  for await (const text of child.stderr.setEncoding("utf8")) {
    log += text;
    if (log.includes("serving GET /resource")) break;
  }
  if (child.exitCode !== null || !log.includes("serving")) throw new Error(`the daemon does not serve: ${log}`);
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  child.kill("SIGTERM");
  await once(child, "exit");
}

function bodyBytesOf(socketPath: string): Promise<number> {
  return new Promise((done, reject) => {
    const asking = request({ socketPath, path: "/resource", agent: false }, (response) => {
      response.resume();
      done(Number(response.headers["content-length"]));
    });
    asking.on("error", reject).end();
  });
}

function rssMib({ pid }: ChildProcess): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) / 1024;
}

/** CPU time of every thread, in milliseconds; schedstat has nanoseconds where `stat` has hundredths of a second. */
function cpuMs({ pid }: ChildProcess): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const ofThread = (thread: string): number =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
  return threads.map(ofThread).reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1e6;
}

const folder = mkdtempSync(join(tmpdir(), "evenkeel-bench-"));
try {
  // The clock's timers keep no process alive, and between two steps nothing else may.
  const alive = setInterval(() => undefined, 2 ** 30);
  const idle = await measureIdle(join(folder, "idle.sock"));
  const rounds = await measureRequests(folder);
  clearInterval(alive);
  const of = (name: string, figure: keyof Round): number =>
    median((rounds.get(name) ?? []).map((round) => round[figure]));
  const row = (name: string): string[] => [
    name,
    of(name, "perSecond").toFixed(0),
    of(name, "p50Ms").toFixed(3),
    of(name, "p99Ms").toFixed(3),
  ];
  const p99Ratio = of("daemon", "p99Ms") / of("bare", "p99Ms");
  print("bench:daemon", {
    workload: [
      `idle: ${MEASURED_REFRESHES} refreshes every ${REFRESH_MS} ms after ${SETTLING_REFRESHES}; CPU time of all threads, nothing subtracted`,
      `requests: ${CONNECTIONS} connections, ${ROUNDS} rounds in turns after ${WARM_UPS} (medians), p50 and p99 at ${REQUESTS_PER_SECOND} requests/s`,
      `to reach: RSS ≤ ${REACH.rssMib} MiB, CPU ≤ ${REACH.cpuMsPerRefresh} ms per refresh, p99 ≤ ${REACH.p99Ratio} × bare`,
    ],
    header: ["SERVER", "REQUESTS/S", "P50 MS", "P99 MS"],
    rows: [row("daemon"), row("bare")],
    figures: {
      rss_mib: idle.rssMib.toFixed(1),
      cpu_ms_per_refresh: idle.cpuMsPerRefresh.toFixed(2),
      requests_per_s: of("daemon", "perSecond").toFixed(0),
      p99_ms: of("daemon", "p99Ms").toFixed(3),
      p99_vs_bare: p99Ratio.toFixed(2),
    },
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
