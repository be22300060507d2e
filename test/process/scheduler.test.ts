import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { evenkeel } from "./evenkeel-command.ts";
import { SchedulerProcess } from "./scheduler-process.ts";

const folder = mkdtempSync(join(tmpdir(), "evenkeel-scheduler-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fileOf(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

interface Nodes {
  readonly nodes: readonly {
    readonly node_id: string;
    readonly status: string;
    readonly reasons: readonly string[];
    readonly in_flight: { readonly cpu: number; readonly memory_bytes: number; readonly count: number };
    readonly reservations: { readonly pending: number; readonly confirmed: number };
  }[];
}
interface Scheduled {
  readonly node: { readonly node_id: string };
  readonly reservation: {
    readonly id: string;
    readonly token: string;
    readonly expires_at: string;
    readonly created_at: string;
  } | null;
}
interface Refused {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details: Readonly<Record<string, unknown>>;
  };
}

const heartbeat = (nodeId: string): object => ({
  endpoint: `http://${nodeId}`,
  service_instance_id: `${nodeId}-1`,
  snapshot: { cpu_count: 16, memory_total_bytes: 64 * 2 ** 30 },
  sandbox_ids: [],
});
const cold = { hint: { new_cold_sandbox: { cpu_count: 1, memory_mb: 1024 } } };

describe("the scheduler program", () => {
  test("serves, says what it does not keep, and ends within 5 s of SIGTERM with 0", async () => {
    await using scheduler = await SchedulerProcess.start();
    expect(await scheduler.call("GET", "/readyz")).toEqual({ status: 200, body: { status: "ready" } });
    const messages = scheduler.log.map(({ msg }) => msg);
    expect(messages).toContain("reservations are kept in memory only: a restart forgets what is in flight");
    const { code, tookMs } = await scheduler.stop();
    expect(code).toBe(0);
    expect(tookMs).toBeLessThan(5_000);
  });

  test("ends with 0 on SIGINT, also while a client keeps its connection", async () => {
    await using scheduler = await SchedulerProcess.start();
    await scheduler.call("GET", "/healthz");
    const { code, tookMs } = await scheduler.stop("SIGINT");
    expect(code).toBe(0);
    expect(tookMs).toBeLessThan(5_000);
  });

  test("names who holds its port and exits with 1", async () => {
    await using first = await SchedulerProcess.start();
    const { code, stderr } = await evenkeel([
      "scheduler",
      "--http",
      `127.0.0.1:${first.port}`,
      "--log-level",
      "silent",
    ]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      new RegExp(`^evenkeel: 127\\.0\\.0\\.1:${first.port} is taken by [^\\n]*\\(process ${first.pid}\\); [^\\n]+\\n$`),
    );
  });

  test("warns when other machines can reach it", async () => {
    // 0.0.0.0 with a port of the system's choice, taken from a listener that has just let it go.
    const probe = createServer().listen(0, "0.0.0.0");
    await once(probe, "listening");
    const { port } = probe.address() as { port: number };
    probe.close();
    await once(probe, "close");
    await using scheduler = await SchedulerProcess.start(["--http", `0.0.0.0:${port}`, "--insecure"]);
    expect(scheduler.log.some(({ level, msg }) => level === 40 && msg.includes("open to other machines"))).toBe(true);
  });

  test.each([
    [["--http", "7070"], /^evenkeel: --http: "7070" is not an address such as 127\.0\.0\.1:7070/],
    [["--http", "localhost:70700"], /^evenkeel: --http: /],
    [["--strategy", "best"], /^evenkeel: --strategy: "best" is not one of least_loaded, round_robin, random/],
    [["--report-ttl", "30"], /^evenkeel: --report-ttl: "30" is not a duration/],
    [["--placement-reservation-ttl", "0s"], /^evenkeel: --placement-reservation-ttl: "0s" is not between 1s and/],
    [["--mailbox-capacity", "0"], /^evenkeel: --mailbox-capacity: "0" is not a whole number/],
    [["--nonsense"], /^evenkeel: /],
  ])("refuses %j with 2 and one line", async (args, line) => {
    const { code, stderr } = await evenkeel(["scheduler", ...args]);
    expect(stderr).toMatch(line);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(code).toBe(2);
  });

  test.each([
    ["an unknown key", '{"stratgy":"random"}', /^evenkeel: stratgy in .*: no such setting/],
    ["an unknown nested key", '{"overcommit":{"cpus":2}}', /^evenkeel: overcommit\.cpus in .*: no such key/],
    ["a number for a duration", '{"report_ttl":30}', /^evenkeel: report_ttl in .*: 30 is not a duration/],
    [
      "a node twice",
      '{"nodes":[{"id":"a","endpoint":"http://a"},{"id":"a","endpoint":"http://b"}]}',
      /^evenkeel: nodes in .*: names a node twice/,
    ],
    ["a node without an endpoint", '{"nodes":[{"id":"a"}]}', /^evenkeel: nodes\.0 in .*: needs an endpoint/],
    [
      "thresholds the wrong way round",
      '{"pressure":{"cpu":{"enter_at":0.5}}}',
      /^evenkeel: pressure\.cpu in .*: recover_below/,
    ],
    [
      "a negative limit",
      '{"node_resource_limit":{"max_sandbox_count":-1}}',
      /^evenkeel: node_resource_limit\.max_sandbox_count in /,
    ],
  ])("refuses a file with %s", async (name, text, line) => {
    const path = fileOf(`${name.replaceAll(" ", "-")}.json`, text);
    const { code, stderr } = await evenkeel(["scheduler", "--config", path]);
    expect(stderr).toMatch(line);
    expect(code).toBe(2);
  });

  test("a flag wins over a variable, a variable over the file; nested keys come from the file", async () => {
    const path = fileOf(
      "all.toml",
      [
        'placement_reservation_ttl = "10m"',
        'report_ttl = "1h"',
        'uncertain_ttl = "20s"',
        'start_guard = "0s"',
        "[node_resource_limit]",
        "max_sandbox_count = 1",
        "[[nodes]]",
        'id = "static-1"',
        'endpoint = "http://static-1"',
      ].join("\n"),
    );
    await using scheduler = await SchedulerProcess.start(["--placement-reservation-ttl", "30s", "--config", path], {
      EVENKEEL_PLACEMENT_RESERVATION_TTL: "5m",
      EVENKEEL_STRATEGY: " Round_Robin ",
    });
    const metrics = await (await fetch(`${scheduler.url}/metrics`)).text();
    expect(metrics).toContain('evenkeel_schedule_assignments_total{strategy="round_robin"} 0');
    const stranger = await scheduler.call<Refused>("POST", "/v1/nodes/other/heartbeat", heartbeat("other"));
    expect(stranger).toMatchObject({ status: 400, body: { error: { message: "node is not in scheduler node list" } } });
    await scheduler.call("POST", "/v1/nodes/static-1/heartbeat", heartbeat("static-1"));
    const { body } = await scheduler.call<Scheduled>("POST", "/v1/schedule", cold);
    const { created_at: from = "", expires_at: to = "" } = body.reservation ?? {};
    expect(Date.parse(to) - Date.parse(from)).toBe(30_000);
    const refused = await scheduler.call<Refused>("POST", "/v1/schedule", cold);
    expect(refused.body.error.details.reasons).toEqual({ "limit max_sandbox_count": 1 });
  });
});

describe("over real HTTP", () => {
  test("64 hintless requests reserve nothing", async () => {
    await using scheduler = await SchedulerProcess.start();
    for (const node of ["a", "b"]) await scheduler.call("POST", `/v1/nodes/${node}/heartbeat`, heartbeat(node));
    const answers = await Promise.all(
      Array.from({ length: 64 }, () => scheduler.call<Scheduled>("POST", "/v1/schedule", {})),
    );
    expect(answers.every(({ status, body }) => status === 200 && body.reservation === null)).toBe(true);
    const { nodes } = (await scheduler.call<Nodes>("GET", "/v1/nodes")).body;
    for (const { in_flight: inFlight, reservations } of nodes) {
      expect(inFlight).toEqual({ cpu: 0, memory_bytes: 0, count: 0 });
      expect(reservations).toEqual({ pending: 0, confirmed: 0 });
    }
    expect(answers.filter(({ body }) => body.node.node_id === "a")).toHaveLength(32);
  });

  test("one node's bad heartbeat never affects another, nor its own last good one", async () => {
    await using scheduler = await SchedulerProcess.start();
    for (const node of ["a", "b"]) await scheduler.call("POST", `/v1/nodes/${node}/heartbeat`, heartbeat(node));
    const before = (await scheduler.call("GET", "/v1/nodes")).body;
    const bad = { ...heartbeat("a"), snapshot: { cpu_count: 2 ** 60 } };
    const refused = await scheduler.call<Refused>("POST", "/v1/nodes/a/heartbeat", bad);
    expect(refused.status).toBe(400);
    expect(refused.body.error.details).toEqual({ field: "snapshot.cpu_count" });
    expect((await scheduler.call("GET", "/v1/nodes")).body).toEqual(before);
  });

  test("a node falls silent and is refused as unhealthy; its lease ends by itself", async () => {
    await using scheduler = await SchedulerProcess.start(["--report-ttl", "1s", "--placement-reservation-ttl", "1s"]);
    await scheduler.call("POST", "/v1/nodes/a/heartbeat", heartbeat("a"));
    await scheduler.call("POST", "/v1/schedule", cold);
    const nodes = async (): Promise<unknown> => (await scheduler.call<Nodes>("GET", "/v1/nodes")).body.nodes;
    const silent = { status: "UNHEALTHY", in_flight: { count: 0 }, reasons: ["unhealthy"] };
    await expect.poll(nodes, { timeout: 5_000 }).toMatchObject([silent]);
    const refused = await scheduler.call<Refused>("POST", "/v1/schedule", cold);
    expect(refused.body.error.details.reasons).toEqual({ unhealthy: 1 });
    const metrics = await (await fetch(`${scheduler.url}/metrics`)).text();
    expect(metrics).toMatch(/^evenkeel_reservations_expired_total 1$/m);
  });

  test("a late confirm that no longer fits is expired, and force charges past capacity", async () => {
    await using scheduler = await SchedulerProcess.start(["--placement-reservation-ttl", "1s"]);
    const small = { ...heartbeat("a"), snapshot: { cpu_count: 1, memory_total_bytes: 2 ** 30 } };
    await scheduler.call("POST", "/v1/nodes/a/heartbeat", small);
    const first = (await scheduler.call<Scheduled>("POST", "/v1/schedule", cold)).body.reservation;
    const state = async (): Promise<unknown> =>
      (await scheduler.call<{ reservation: unknown }>("GET", `/v1/reservations/${first?.id}`)).body.reservation;
    await expect.poll(state, { timeout: 5_000 }).toMatchObject({ state: "expired", reason: "lease", cpu: 0 });
    const second = (await scheduler.call<Scheduled>("POST", "/v1/schedule", cold)).body.reservation;
    await scheduler.call("POST", `/v1/reservations/${second?.token}/confirm`, { sandbox_id: "s2" });
    const path = `/v1/reservations/${first?.token}/confirm`;
    const refused = await scheduler.call<Refused>("POST", path, { sandbox_id: "s1" });
    expect(refused).toMatchObject({ status: 410, body: { error: { code: "expired" } } });
    const forced = await scheduler.call("POST", path, { sandbox_id: "s1", force: true });
    expect(forced).toMatchObject({ status: 200, body: { reservation: { state: "confirmed", late: true } } });
    const { nodes } = (await scheduler.call<Nodes>("GET", "/v1/nodes")).body;
    expect(nodes).toMatchObject([{ over_limit: true, available: { cpu: 0, memory_bytes: 0 }, in_flight: { cpu: 2 } }]);
  });

  test("creations are unavailable until the configured nodes have reported", async () => {
    const path = fileOf("guarded.json", '{"start_guard":"10m","nodes":[{"id":"a","endpoint":"http://a"}]}');
    await using scheduler = await SchedulerProcess.start(["--config", path]);
    const unavailable = { status: 503, body: { error: { code: "unavailable", details: { retry: "unchanged" } } } };
    expect(await scheduler.call("POST", "/v1/schedule", cold)).toMatchObject(unavailable);
    expect(await scheduler.call("GET", "/readyz")).toMatchObject(unavailable);
    expect((await scheduler.call("GET", "/healthz")).status).toBe(200);
    await scheduler.call("POST", "/v1/nodes/a/heartbeat", heartbeat("a"));
    expect((await scheduler.call("POST", "/v1/schedule", cold)).status).toBe(200);
    expect((await scheduler.call("GET", "/readyz")).status).toBe(200);
  });

  test("a mailbox that is full answers 429 with Retry-After, and nothing was changed", async () => {
    await using scheduler = await SchedulerProcess.start(["--mailbox-capacity", "1"]);
    await scheduler.call("POST", "/v1/nodes/a/heartbeat", { ...heartbeat("a"), snapshot: { cpu_count: 4_000_000 } });
    let scheduled = 0;
    const refused: Response[] = [];
    // Whether requests meet in the mailbox is up to the sockets: burst until some have.
    for (let burst = 0; burst < 50 && refused.length === 0; burst++) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, () =>
          fetch(`${scheduler.url}/v1/schedule`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(cold),
          }),
        ),
      );
      scheduled += answers.filter(({ status }) => status === 200).length;
      refused.push(...answers.filter(({ status }) => status !== 200));
    }
    expect(refused.length).toBeGreaterThan(0);
    for (const answer of refused) {
      expect(answer.status).toBe(429);
      expect(answer.headers.get("retry-after")).toBe("1");
      expect(((await answer.json()) as Refused).error.code).toBe("overloaded");
    }
    const { nodes } = (await scheduler.call<Nodes>("GET", "/v1/nodes")).body;
    expect(nodes[0]?.in_flight.count).toBe(scheduled);
    const metrics = await (await fetch(`${scheduler.url}/metrics`)).text();
    expect(metrics).toContain(`evenkeel_mailbox_rejected_total{actor="placement"} ${refused.length}\n`);
  });
});
