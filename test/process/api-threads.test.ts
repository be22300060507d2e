import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { createAuthority } from "../fakes/certificate.ts";
import { callAllThreads, callFresh, FOR_ALL_THREADS } from "../unit/api/fresh-call.ts";
import { evenkeel } from "./evenkeel-command.ts";
import { callEveryEndpoint } from "./every-endpoint.ts";
import { RunningProgram } from "./running-program.ts";
import { SchedulerProcess } from "./scheduler-process.ts";
import { INSPECTED, WorkerKiller } from "./worker-killer.ts";

const folder = mkdtempSync(join(tmpdir(), "evenkeel-api-threads-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TEST_MS = 120_000;
const WAIT = { timeout: 20_000, interval: 50 };
const OK = Array(FOR_ALL_THREADS).fill(200);
const threads = (count: number): string[] => ["--api-threads", String(count)];

/** Counters, without those of actors, which the two have different ones of. */
async function countersOf(url: string): Promise<string[]> {
  const { text } = await callFresh(url, { path: "/metrics" });
  return text.split("\n").filter((line) => /^evenkeel_\w+_(total|count)[ {]/.test(line) && !line.includes("actor="));
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

/** Sockets that listen on that port, as the kernel lists them (proc_pid_net(5); 0A is LISTEN). */
function listenersOn(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  return rows.filter(([, address, , state]) => state === "0A" && address?.endsWith(local) === true).length;
}

test(
  "one thread and three answer every endpoint the same, field by field, and count the same",
  async () => {
    await using one = await SchedulerProcess.start([...threads(1), "--strategy", "round_robin"]);
    await using three = await SchedulerProcess.start([...threads(3), "--strategy", "round_robin"]);
    const [ofOne, ofThree] = await Promise.all([callEveryEndpoint(one.url), callEveryEndpoint(three.url)]);
    expect(ofOne.missed).toEqual([]);
    expect(new Set(ofOne.steps.map(({ status }) => status)).size).toBeGreaterThanOrEqual(7);
    expect(ofThree.steps).toEqual(ofOne.steps);
    const counters = await countersOf(one.url);
    expect(counters).toContain('evenkeel_schedule_duration_seconds_count{strategy="round_robin",status="ok"} 6');
    expect(await countersOf(three.url)).toEqual(counters);
  },
  TEST_MS,
);

test(
  "2 000 schedules at once over three threads on nodes that fit 1 500: the audit finds nothing booked twice",
  async () => {
    await using scheduler = await SchedulerProcess.start(threads(3));
    const { code, stdout } = await evenkeel([
      ...[
        "load",
        "--scheduler",
        scheduler.url,
        "--json",
        "--nodes",
        "15",
        "--node-cpu",
        "100",
        "--node-memory",
        "400GiB",
      ],
      ...[
        "--requests",
        "2000",
        "--concurrency",
        "500",
        "--cpu",
        "1",
        "--memory",
        "4GiB",
        "--heartbeat-interval",
        "20s",
      ],
      ...["--confirm", "1", "--cancel", "0", "--abandon", "0", "--repeat", "0"],
    ]);
    const report = JSON.parse(stdout);
    expect(report.audit.filter(({ violations }: { violations: number }) => violations > 0)).toEqual([]);
    expect(report.outcomes).toEqual({ confirmed: 1_500, "refused: no_nodes": 500 });
    expect(code).toBe(0);
  },
  TEST_MS,
);

test(
  "cancels, abandoned answers and repeats over three threads leave a ledger that every client can explain",
  async () => {
    await using scheduler = await SchedulerProcess.start([...threads(3), "--placement-reservation-ttl", "5s"]);
    const { code, stdout } = await evenkeel(["load", "--scheduler", scheduler.url, "--json", "--requests", "1000"]);
    expect(JSON.parse(stdout)).toMatchObject({ passed: true });
    expect(code).toBe(0);
  },
  TEST_MS,
);

test(
  "a second scheduler on the port is refused in the usual line, also when both would share it",
  async () => {
    await using first = await SchedulerProcess.start(threads(2));
    const at = ["scheduler", "--http", `127.0.0.1:${first.port}`, "--log-level", "silent"];
    const refused = await Promise.all([1, 2].map((count) => evenkeel([...at, ...threads(count)])));
    const line = new RegExp(
      `^evenkeel: 127\\.0\\.0\\.1:${first.port} is taken by [^\\n]*\\(process ${first.pid}\\); [^\\n]+ with --http\\n$`,
    );
    for (const { code, stderr } of refused) {
      expect(stderr).toMatch(line);
      expect(code).toBe(1);
    }
  },
  TEST_MS,
);

test(
  "of two that start on one port at the same moment one serves, and the other says that it is taken",
  async () => {
    const port = await freePort();
    const at = ["--http", `127.0.0.1:${port}`, "--state-dir", "none", ...threads(2)];
    const starts = await Promise.allSettled([1, 2].map(() => SchedulerProcess.start(at)));
    const started = starts.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
    await using _one = started[0];
    await using _other = started[1];
    expect(started.length).toBe(1);
    const [refused] = starts.flatMap((start) => (start.status === "rejected" ? [String(start.reason)] : []));
    expect(refused).toMatch(`evenkeel: 127.0.0.1:${port} is taken by`);
    expect(listenersOn(port)).toBe(2);
  },
  TEST_MS,
);

test(
  "a thread that dies is started again and listens again, and the other serves meanwhile",
  async () => {
    await using scheduler = await SchedulerProcess.start(threads(2), INSPECTED);
    const killer = await WorkerKiller.attach(scheduler.stderr);
    const said = (pattern: RegExp) => scheduler.log.filter(({ msg }) => pattern.test(msg)).length;
    for (const death of [1, 2]) {
      // The second to die is the one that has served alone: what then answers is the first one's next life.
      await killer.killOne();
      await vi.waitFor(
        () => expect(said(/^api-\d failed: thread api-\d is gone: .*; it restarts in/)).toBe(death),
        WAIT,
      );
      const answers = await callAllThreads(scheduler.url, { path: "/v1/nodes" });
      expect(answers.map(({ status }) => status)).toEqual(OK);
      await vi.waitFor(() => expect(said(/^api-\d is running again$/)).toBe(death), WAIT);
      await vi.waitFor(() => expect(listenersOn(scheduler.port)).toBe(2), WAIT);
    }
    killer.detach();
    expect((await scheduler.stop()).code).toBe(0);
  },
  TEST_MS,
);

describe("what changes who is let in reaches every thread:", () => {
  const fileOf = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };

  test(
    "tokens and the certificate, and a thread's next life",
    async () => {
      const [before, after] = ["client-token-before-0123", "client-token-after-01234"] as const;
      const authority = createAuthority("of api threads");
      const [old, fresh] = [authority.issue("old"), authority.issue("fresh")];
      const tokens = fileOf("tokens", `client ${before}\n`);
      const [cert, key] = [fileOf("cert.pem", old.cert), fileOf("key.pem", old.key)];
      const access = ["--tokens", tokens, "--tls-cert", cert, "--tls-key", key];
      const inMemory = ["--state-dir", "none", "--http", "127.0.0.1:0"];
      await using scheduler = new RunningProgram(["scheduler", ...inMemory, ...threads(3), ...access], INSPECTED);
      const [, url = ""] = await scheduler.says(/serving the HTTP API on (https:\/\/[\d.:]+)/);
      const ask = async (token: string) => {
        const headers = { authorization: `Bearer ${token}` };
        const answers = await callAllThreads(url, { path: "/v1/reservations", headers, ca: authority.cert });
        return answers.map(({ status, shownName }) => `${status} ${shownName}`);
      };
      const all = (answer: string) => Array(FOR_ALL_THREADS).fill(answer);
      expect(await ask(before)).toEqual(all("200 old"));
      expect(await ask(after)).toEqual(all("401 old"));

      writeFileSync(tokens, `client ${after}\n`);
      writeFileSync(cert, fresh.cert);
      writeFileSync(key, fresh.key);
      await vi.waitFor(async () => expect(await ask(after)).toEqual(all("200 fresh")), WAIT);
      expect(await ask(before)).toEqual(all("401 fresh"));

      const killer = await WorkerKiller.attach(scheduler.stderr);
      for (const _ of [1, 2, 3]) {
        await killer.killOne();
        await vi.waitFor(() => expect(listenersOn(Number(new URL(url).port))).toBe(2), WAIT);
        await vi.waitFor(() => expect(listenersOn(Number(new URL(url).port))).toBe(3), WAIT);
      }
      expect(await ask(after)).toEqual(all("200 fresh"));
      expect(await ask(before)).toEqual(all("401 fresh"));
      killer.detach();
      expect((await scheduler.stop()).code).toBe(0);
    },
    TEST_MS,
  );
});

test(
  "connections that clients keep do not keep it from stopping within 5 s",
  async () => {
    await using scheduler = await SchedulerProcess.start(threads(3));
    // Fetch keeps its connections.
    await Promise.all(Array.from({ length: FOR_ALL_THREADS }, () => fetch(`${scheduler.url}/v1/nodes`)));
    const { code, tookMs } = await scheduler.stop();
    expect(code).toBe(0);
    expect(tookMs).toBeLessThan(5_000);
  },
  TEST_MS,
);

test(
  "`up` serves from threads, too",
  async () => {
    const socket = join(folder, "up.sock");
    await using up = new RunningProgram(["up", "--http", "127.0.0.1:0", "--socket", socket, ...threads(2)]);
    const [, url = ""] = await up.says(/a scheduler on (http:\/\/[\d.:]+),/);
    const answers = await callAllThreads(url, { path: "/readyz" });
    expect(answers.map(({ status }) => status)).toEqual(OK);
    expect((await up.stop()).code).toBe(0);
  },
  TEST_MS,
);
