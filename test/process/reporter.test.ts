import { createServer } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { DaemonProcess, startDaemon } from "./daemon-process.ts";
import { LivingTree } from "./living-tree.ts";
import { LossyProxy } from "./lossy-proxy.ts";
import { RunningScheduler } from "./running-scheduler.ts";

// Several programs start in one test, on machines that do other things meanwhile.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 });

const often = (url: string, ...more: string[]): string[] => [
  ...["--interval", "100ms", "--scheduler", url, "--node-id", "box-1", "--no-runtime", "--log-format", "json"],
  ...more,
];

/** 90 of 100 parts of memory are in use: exactly where a condition may be entered. */
const HIGH_MEMORY = "MemTotal: 1000000 kB\nMemFree: 1000 kB\nMemAvailable: 100000 kB\n";
const LOW_MEMORY = "MemTotal: 1000000 kB\nMemFree: 1000 kB\nMemAvailable: 900000 kB\n";

describe("a daemon with --scheduler (node-daemon.md, 6)", () => {
  test("makes its node appear with the utilization, capacity and instance that it reports", async () => {
    await using scheduler = await RunningScheduler.start();
    const tree = new LivingTree("no-limits");
    tree.write("proc/meminfo", LOW_MEMORY);
    await using daemon = await startDaemon({ tree: tree.path, args: often(scheduler.url) });
    const node = await scheduler.untilNode("box-1", ({ utilization }) => utilization?.memory === 0.1);
    const resource = await daemon.resource();
    expect(node.capacity).toEqual({ cpu: resource.cpu, memory_bytes: resource.mem });
    expect(node.utilization).toMatchObject({ memory: 0.1, fd: resource.utilization.fd, pid: null, disk: null });
    expect(node).toMatchObject({ status: "READY", accounting: "ledger", endpoint: null, schedulable: true });
    expect(node.service_instance_id).toMatch(/^[0-9a-f]{32}$/);
    expect(daemon.logged("reporting to the scheduler")).toBe(1);
  });

  test("does not make a candidate of its node without --no-runtime: a runtime must report too", async () => {
    await using scheduler = await RunningScheduler.start();
    const tree = new LivingTree("no-limits");
    const args = ["--interval", "100ms", "--scheduler", scheduler.url, "--node-id", "box-1", "--log-format", "json"];
    await scheduler.call("/v1/nodes/box-1/heartbeat", {
      service_instance_id: "runtime-1",
      endpoint: "box-1.example:9000",
      snapshot: { cpu_count: 64 },
      sandbox_ids: [],
    });
    await using _daemon = await startDaemon({ tree: tree.path, args });
    const node = await scheduler.untilNode("box-1", ({ utilization }) => utilization !== null);
    expect(node).toMatchObject({ accounting: "roster", service_instance_id: "runtime-1" });
    expect(node.capacity.cpu).toBe(64);
  });

  test("finds a restarted scheduler again, and logs only the two changes", async () => {
    await using first = await RunningScheduler.start();
    await using second = await RunningScheduler.start();
    await using proxy = await LossyProxy.open(first.url, () => "pass");
    const tree = new LivingTree("no-limits");
    await using daemon = await startDaemon({ tree: tree.path, args: often(proxy.url) });
    await first.untilNode("box-1", () => true);
    await first.stop();
    await expect.poll(() => daemon.logged("lost the scheduler"), { timeout: 15_000 }).toBe(1);
    // Sampling goes on meanwhile.
    await daemon.ticks(3, "memory");
    proxy.target = second.url;
    const node = await second.untilNode("box-1", ({ utilization }) => utilization !== null);
    expect(node.status).toBe("READY");
    await expect.poll(() => daemon.logged("reporting to the scheduler")).toBe(2);
    expect(daemon.logged("lost the scheduler")).toBe(1);
  });

  test("logs a refusal once, in the API's words", async () => {
    await using scheduler = await RunningScheduler.start({
      config: { nodes: [{ id: "box-2", endpoint: "box-2.example:9000" }] },
    });
    const tree = new LivingTree("no-limits");
    await using daemon = await startDaemon({ tree: tree.path, args: often(scheduler.url) });
    await expect.poll(() => daemon.logged("node is not in scheduler node list"), { timeout: 15_000 }).toBe(1);
    await daemon.ticks(5, "memory");
    expect(daemon.logged("refuses this node's heartbeats")).toBe(1);
  });

  test("stays silent when another daemon already serves its socket", async () => {
    await using scheduler = await RunningScheduler.start();
    const tree = new LivingTree("no-limits");
    await using daemon = await startDaemon({ tree: tree.path, args: often(scheduler.url) });
    const before = await scheduler.untilNode("box-1", () => true);
    await using second = new DaemonProcess({ tree: tree.path, socket: daemon.socket, args: often(scheduler.url) });
    expect(await second.outcome()).toBe(1);
    const after = await scheduler.untilNode("box-1", ({ generation }) => generation > before.generation);
    expect(after.service_instance_id).toBe(before.service_instance_id);
  });

  test("stops within 5 s while its scheduler takes the heartbeat and never answers", async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const address = silent.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const tree = new LivingTree("no-limits");
    await using daemon = await startDaemon({ tree: tree.path, args: often(`http://127.0.0.1:${port}`) });
    await daemon.ticks(3, "memory");
    const { code, tookMs } = await daemon.stop();
    expect(code).toBe(0);
    expect(tookMs).toBeLessThan(5_000);
    silent.close();
  });
});

describe("pressure, from the kernel's files to a refused request (placement.md, 6)", () => {
  test("6 high refreshes enter MEMORY_PRESSURE, 2 low ones leave it", async () => {
    await using scheduler = await RunningScheduler.start();
    await using proxy = await LossyProxy.open(scheduler.url, () => "pass");
    const tree = new LivingTree("no-limits");
    tree.write("proc/meminfo", LOW_MEMORY);
    await using _daemon = await startDaemon({ tree: tree.path, args: often(proxy.url) });
    await scheduler.untilNode("box-1", ({ utilization }) => utilization?.memory === 0.1);
    const sent = (): Heartbeat[] => proxy.to("heartbeat").map(({ body }) => body as unknown as Heartbeat);
    const sentOf = (memory: number): number =>
      sent().filter(({ resource }) => resource.utilization.memory === memory).length;

    tree.write("proc/meminfo", HIGH_MEMORY);
    let withoutIt = 0;
    const under = await scheduler.untilNode("box-1", ({ conditions }) => {
      if (conditions.length === 0) withoutIt = sentOf(0.9);
      return conditions.length > 0;
    });
    // What was on its way when the node was asked for is in neither figure for sure: the bounds meet at 6.
    expect(withoutIt).toBeLessThanOrEqual(6);
    expect(sentOf(0.9)).toBeGreaterThanOrEqual(6);
    expect(under.conditions.map(({ type }) => type)).toEqual(["MEMORY_PRESSURE"]);
    expect(under.schedulable).toBe(false);
    expect(scheduler.stderr).toContain("box-1 is under MEMORY_PRESSURE at 0.9");
    const refused = scheduler.call("/v1/schedule", { hint: { new_cold_sandbox: { cpu_count: 1 } } });
    await expect(refused).rejects.toThrow("no nodes available: 1 MEMORY_PRESSURE");

    const lowBefore = sentOf(0.1);
    tree.write("proc/meminfo", LOW_MEMORY);
    const relieved = await scheduler.untilNode("box-1", ({ conditions }) => conditions.length === 0);
    expect(relieved.schedulable).toBe(true);
    expect(sentOf(0.1) - lowBefore).toBeGreaterThanOrEqual(2);
    // No refresh was reported twice. One may be missing, where an answer took longer than an interval.
    const sequences = sent().map((each) => each.resource_sequence);
    expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b));
  });
});

interface Heartbeat {
  readonly resource_sequence: number;
  readonly resource: { readonly utilization: { readonly memory: number } };
}
