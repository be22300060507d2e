import { expect, test, vi } from "vitest";
import { type Fate, intentionOf } from "../../src/actors/load/plan.ts";
import { evenkeel } from "./evenkeel-command.ts";
import { RunningProgram } from "./running-program.ts";
import { RunningScheduler } from "./running-scheduler.ts";

const GIB = 2 ** 30;

interface LoadReport {
  readonly seed: number;
  readonly passed: boolean;
  readonly requests: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly cancelled_by_id: number;
  readonly latency: Readonly<Record<string, { readonly count: number } | null>>;
  readonly granted_by_node: Readonly<Record<string, number>>;
  readonly audit: readonly { readonly invariant: string; readonly when: string; readonly violations: number }[];
}

/** In memory: what is tested is the load, and its ledger shall begin empty. */
function startScheduler(args: readonly string[] = [], config?: object): Promise<RunningScheduler> {
  return RunningScheduler.start({
    args: ["--state-dir", "none", ...args],
    ...(config === undefined ? {} : { config }),
  });
}

async function load(
  scheduler: RunningScheduler,
  ...options: string[]
): Promise<{ code: number | null; report: LoadReport; stderr: string }> {
  const { code, stdout, stderr } = await evenkeel(["load", "--scheduler", scheduler.url, "--json", ...options]);
  return { code, report: JSON.parse(stdout || "null") as LoadReport, stderr };
}

/** What is left of it: nothing that is charged, and no node. */
async function expectNothingLeft(scheduler: RunningScheduler): Promise<void> {
  expect(await scheduler.nodes()).toEqual([]);
  const live = await scheduler.call<{ reservations: unknown[] }>("/v1/reservations");
  expect(live.reservations).toEqual([]);
}

test("2 000 requests at once on nodes that fit exactly 1 500: 1 500 granted, each node full, 500 refused", async () => {
  await using scheduler = await startScheduler();
  const { code, report } = await load(
    scheduler,
    ...["--nodes", "15", "--node-cpu", "100", "--node-memory", "400GiB"],
    ...["--requests", "2000", "--concurrency", "2000", "--cpu", "1", "--memory", "4GiB"],
    // What the reports of the run show is charged twice until it settles, which would refuse a few: none come.
    ...["--confirm", "1", "--cancel", "0", "--abandon", "0", "--repeat", "0", "--heartbeat-interval", "20s"],
  );
  expect(report.audit.filter(({ violations }) => violations > 0)).toEqual([]);
  expect(report.outcomes).toEqual({ confirmed: 1500, "refused: no_nodes": 500 });
  expect(Object.values(report.granted_by_node)).toEqual(Array(15).fill(100));
  expect(code).toBe(0);
  await expectNothingLeft(scheduler);
});

test("confirms, cancels, repeats and leases that run out leave a ledger that every client can explain", async () => {
  await using scheduler = await startScheduler(["--placement-reservation-ttl", "5s"]);
  // Twice the room: what a report shows before it settles is charged twice, and none shall be refused.
  const room = ["--nodes", "64", "--requests", "1000"];
  const { code, report, stderr } = await load(scheduler, ...room, "--seed", "7", "--wait", "30s");
  expect(report.audit.map(({ violations }) => violations)).toEqual(Array(11).fill(0));
  expect(report.seed).toBe(7);
  const { confirm, cancel, abandon, repeats } = fatesOf(7, 1_000);
  expect(report.outcomes).toEqual({ abandoned: abandon, cancelled: cancel, confirmed: confirm });
  expect(report.cancelled_by_id).toBe(0);
  expect(report.latency).toMatchObject({
    schedule: { count: 1_000 + repeats },
    confirm: { count: confirm },
    cancel: { count: cancel },
  });
  expect(code).toBe(0);
  expect(stderr).toMatch(/^seed 7; load on http/);
  await expectNothingLeft(scheduler);
});

/** What a seed draws, with the usual weights. */
function fatesOf(seed: number, requests: number): Record<Fate | "repeats", number> {
  const weights = { confirm: 7, cancel: 2, abandon: 1 };
  const plan = { seed, prefix: "", requests, cpuCount: 2, memoryMib: 4096, weights, repeatShare: 0.1, patience: null };
  const counts = { confirm: 0, cancel: 0, abandon: 0, repeats: 0 };
  for (let number = 0; number < requests; number++) {
    const { fate, repeats } = intentionOf(plan, number);
    counts[fate] += 1;
    if (repeats) counts.repeats += 1;
  }
  return counts;
}

test("leases too long to wait for are cancelled by id at the end", async () => {
  await using scheduler = await startScheduler();
  const { code, report } = await load(
    scheduler,
    ...["--requests", "200", "--abandon", "1", "--confirm", "0", "--cancel", "0", "--wait", "0ms"],
  );
  expect(report).toMatchObject({ passed: true, outcomes: { abandoned: 200 }, cancelled_by_id: 200 });
  expect(code).toBe(0);
  expect((await scheduler.reservations("cancelled")).length).toBe(200);
  await expectNothingLeft(scheduler);
});

test("nodes that were there before are left alone", async () => {
  await using scheduler = await startScheduler();
  await scheduler.addLedgerNode("mine", { cpu: 512, memoryGib: 2048 });
  const { code, report } = await load(scheduler, ...["--requests", "300", "--nodes", "10", "--wait", "0ms"]);
  expect(report.passed).toBe(true);
  expect(code).toBe(0);
  expect(Object.keys(report.granted_by_node)).not.toContain("mine");
  const nodes = await scheduler.nodes();
  expect(nodes).toMatchObject([
    { node_id: "mine", in_flight: { cpu: 0, count: 0 }, available: { memory_bytes: 2048 * GIB } },
  ]);
});

test("a charge that a stranger makes on its nodes fails the audit, and it exits with 1", async () => {
  await using scheduler = await startScheduler();
  const args = ["--requests", "2000", "--concurrency", "8", "--nodes", "100", "--wait", "0ms", "--seed", "3"];
  const running = evenkeel(["load", "--scheduler", scheduler.url, ...args]);
  await vi.waitFor(async () => expect(await scheduler.nodes()).toHaveLength(100), { timeout: 10_000 });
  const { reservation } = await scheduler.call<{ reservation: { id: string } }>("/v1/schedule", {
    hint: { new_cold_sandbox: { cpu_count: 1, memory_mb: 1024 } },
  });
  const { code, stdout, stderr } = await running;
  expect(code).toBe(1);
  expect(stdout).toMatch(/every charge is explained by a client +VIOLATED 2 times +VIOLATED 2 times/);
  expect(stdout).toMatch(new RegExp(`${reservation.id} on load-[\\w-]+ is pending, but no client was given it`));
  expect(stderr).toContain("the audit failed; the same run again: --seed 3");
  await expectNothingLeft(scheduler);
});

test("a signal cuts the run short, and it cleans up all the same", async () => {
  await using scheduler = await startScheduler();
  const program = new RunningProgram(["load", "--scheduler", scheduler.url, "--requests", "1000000", "--wait", "0ms"]);
  await using _ending = program;
  await program.says(/\d+ of 1000000/);
  const { code } = await program.stop("SIGINT");
  expect(code).toBe(1);
  expect(program.stderr).toContain("the run was cut short by SIGINT");
  expect(program.stdout).not.toContain("VIOLATED");
  await expectNothingLeft(scheduler);
});

test("without a scheduler it waits for one a little, and says how to start one", async () => {
  const { code, stdout, stderr } = await evenkeel(["load", "--scheduler", "http://127.0.0.1:9", "--seed", "1"]);
  expect(code).toBe(1);
  expect(stdout).toBe("");
  expect(stderr).toContain("nobody listens at http://127.0.0.1:9 yet; waiting 5 s at most\n");
  expect(stderr).toMatch(/evenkeel: GET \/readyz: .*; start one with "npx evenkeel scheduler", or name another/);
});

test("where the nodes are configured, its own are refused: it says so and leaves nothing", async () => {
  await using scheduler = await startScheduler(["--start-guard", "1s"], {
    nodes: [{ id: "a", endpoint: "a.example:1" }],
  });
  const { code, stderr } = await load(scheduler, "--nodes", "2");
  expect(code).toBe(1);
  expect(stderr).toMatch(/evenkeel: heartbeat of load-\w+-node-1: node is not in scheduler node list/);
});

test.each([
  [["--repeat", "1.5"], 'evenkeel: --repeat: "1.5" is not a share from 0 to 1\n'],
  [["--memory", "1.5B"], 'evenkeel: --memory: "1.5B" is not a whole number of 1048576 bytes\n'],
  [
    ["--confirm", "0", "--cancel", "0", "--abandon", "0"],
    "evenkeel: --confirm, --cancel, --abandon: all are 0; one of them has to be more\n",
  ],
])("called wrongly (%j) it says so in one line and exits with 2", async (options, stderr) => {
  expect(await evenkeel(["load", ...options])).toEqual({ code: 2, stdout: "", stderr });
});
