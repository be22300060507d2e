import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { outcomeSeries, sampleOf, startDaemon } from "./daemon-process.ts";
import { LivingTree } from "./living-tree.ts";

const FIXTURES = join(import.meta.dirname, "../../fixtures/kernel");
const OFTEN = ["--interval", "200ms"];

describe("GET /healthz and the capacity", () => {
  it("is 503 with capacity 0 until a capacity could be read, then 200", async () => {
    const tree = new LivingTree("no-limits");
    const [meminfo, online] = [tree.read("proc/meminfo"), tree.read("sys/devices/system/cpu/online")];
    tree.write("proc/meminfo", "MemTotal: many kB\n");
    tree.write("sys/devices/system/cpu/online", "not a list\n");
    await using daemon = await startDaemon({ tree: tree.path, args: OFTEN });
    const unhealthy = await daemon.get("/healthz");
    expect(unhealthy.status).toBe(503);
    expect(unhealthy.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(unhealthy.body).error.code).toBe("unavailable");
    const unknown = await daemon.resource();
    expect([unknown.cpu, unknown.mem]).toEqual([0, 0]);
    expect(unknown.utilization).toMatchObject({ memory: null, fd: 0 });

    tree.write("proc/meminfo", meminfo);
    tree.write("sys/devices/system/cpu/online", online);
    await daemon.until(({ cpu, mem }) => cpu === 4 && mem === 15 * 2 ** 30);
    const healthy = await daemon.get("/healthz");
    expect(healthy.status).toBe(200);
    expect(JSON.parse(healthy.body)).toEqual({ status: "ok" });
  });

  it("keeps the last good capacity while its files are bad, and takes the new one when they are good again", async () => {
    const tree = new LivingTree("no-limits");
    const [meminfo, online] = [tree.read("proc/meminfo"), "sys/devices/system/cpu/online"];
    await using daemon = await startDaemon({ tree: tree.path, args: OFTEN });
    const before = await daemon.resource();
    tree.write("proc/meminfo", "MemTotal: many kB\n");
    tree.write(online, "three\n");
    const during = await daemon.until(({ utilization }) => utilization.memory === null);
    await daemon.ticks(2, "capacity");
    expect([during.cpu, during.mem]).toEqual([before.cpu, before.mem]);
    expect((await daemon.get("/resource")).status).toBe(200);
    expect((await daemon.get("/healthz")).status).toBe(200);
    expect(sampleOf((await daemon.get("/metrics")).body, outcomeSeries("capacity", "failed"))).toBe("1");

    // 3 GiB and something, which is rounded down.
    tree.write(
      "proc/meminfo",
      meminfo
        .replace(/^MemTotal:.*$/m, "MemTotal: 3500000 kB")
        .replace(/^MemAvailable:.*$/m, "MemAvailable: 3500000 kB"),
    );
    tree.write(online, "0-2\n");
    const after = await daemon.until(({ cpu, mem }) => cpu === 3 && mem === 3 * 2 ** 30);
    expect(after.utilization.memory).toBe(0);
  });
});

describe("one source that fails", () => {
  it.each([
    { metric: "memory", file: "proc/meminfo", bad: "MemTotal: many kB\n", value: 0.4 },
    { metric: "pid", file: "sys/fs/cgroup/system.slice/pids.max", bad: "?\n", value: 0.3 },
    { metric: "fd", file: "proc/self/limits", bad: "", value: 0.3 },
  ] as const)(
    "falls back to its other sources, and is named in /metrics: $metric",
    async ({ metric, file, bad, value }) => {
      const tree = new LivingTree("all-limits");
      const good = tree.read(file);
      await using daemon = await startDaemon({ tree: tree.path, args: OFTEN });
      const before = await daemon.resource();
      expect(before.utilization[metric]).toBeCloseTo(value, 9);
      tree.write(file, bad);
      await daemon.untilOutcome(metric, "failed");
      const during = await daemon.resource();
      const others = { ...before.utilization, cpu: expect.anything(), [metric]: expect.anything() };
      expect(during.utilization).toEqual(others);
      expect((await daemon.get("/healthz")).status).toBe(200);
      tree.write(file, good);
      await daemon.untilOutcome(metric, "ok");
      expect((await daemon.resource()).utilization[metric]).toBe(before.utilization[metric]);
    },
  );

  it("turns its key null when it was the only one, the others stay, and it recovers", async () => {
    const tree = new LivingTree("no-limits");
    const good = tree.read("proc/meminfo");
    await using daemon = await startDaemon({ tree: tree.path, args: OFTEN });
    tree.write("proc/meminfo", good.replace(/^MemAvailable:.*\n/m, ""));
    const during = await daemon.until(({ utilization }) => utilization.memory === null && utilization.fd !== null);
    expect(during.utilization.fd).toBe(0);
    await daemon.untilOutcome("memory", "none");
    expect((await daemon.get("/resource")).status).toBe(200);
    expect((await daemon.get("/healthz")).status).toBe(200);
    tree.write("proc/meminfo", good);
    expect((await daemon.until(({ utilization }) => utilization.memory !== null)).utilization.memory).toBe(0);
  });

  it("gives cpu no number for the sample after a failed one", async () => {
    const tree = new LivingTree("no-limits");
    const [first, later] = [tree.read("proc/stat"), tree.read("proc/stat.later")];
    await using daemon = await startDaemon({ tree: tree.path, args: ["--interval", "500ms"] });
    tree.write("proc/stat", "no cpu line\n");
    await daemon.untilOutcome("cpu", "failed");
    tree.write("proc/stat", later);
    // Against the first sample this would be 0.45; after a failure there is nothing to compare with.
    await daemon.untilOutcome("cpu", "none");
    expect((await daemon.resource()).utilization.cpu).toBeNull();
    // Running backwards floors each difference at 0: no time has passed.
    tree.write("proc/stat", first);
    await daemon.ticks(1, "cpu");
    expect((await daemon.resource()).utilization.cpu).toBeNull();
    tree.write("proc/stat", later);
    expect((await daemon.until(({ utilization }) => utilization.cpu !== null)).utilization.cpu).toBe(0.45);
  });
});

describe("GET /metrics", () => {
  it("is Prometheus text format: every series typed, helped, and once", async () => {
    await using daemon = await startDaemon({ tree: join(FIXTURES, "all-limits"), args: ["--filestore", "/dev/shm"] });
    const { status, headers, body } = await daemon.get("/metrics");
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(body.endsWith("\n")).toBe(true);
    const typed = new Set<string>();
    const helped = new Set<string>();
    const series = new Set<string>();
    for (const line of body.split("\n").filter((each) => each !== "")) {
      const comment = /^# (HELP|TYPE) ([a-z_:][a-z0-9_:]*) (\S.*)$/.exec(line);
      if (comment?.[2] !== undefined) {
        (comment[1] === "TYPE" ? typed : helped).add(comment[2]);
        continue;
      }
      const sample = /^(([a-z_:][a-z0-9_:]*)(?:\{(?:[a-z_]+="[^"\\\n]*",?)+\})?) (\S+)$/.exec(line);
      if (sample?.[1] === undefined || sample[2] === undefined) throw new Error(`not in the format: ${line}`);
      expect(Number(sample[3])).not.toBeNaN();
      expect(typed.has(sample[2]) && helped.has(sample[2])).toBe(true);
      expect(series.has(sample[1])).toBe(false);
      series.add(sample[1]);
    }
    expect(sampleOf(body, 'evenkeel_utilization_ratio{metric="pid"}')).toBe("0.3");
    expect(sampleOf(body, "evenkeel_capacity_cpu_cores")).toBe("32");
    expect(sampleOf(body, "evenkeel_capacity_memory_bytes")).toBe("103079215104");
    expect(Number(sampleOf(body, "evenkeel_capacity_storage_bytes"))).toBeGreaterThan(0);
  });

  it("leaves out what is unknown, and shows age, duration and outcome of every source", async () => {
    await using daemon = await startDaemon({ tree: join(FIXTURES, "no-limits"), args: ["--interval", "5m"] });
    const { body } = await daemon.get("/metrics");
    const known = [...body.matchAll(/^evenkeel_utilization_ratio\{metric="(\w+)"\} (\S+)$/gm)].map(
      ([, ...pair]) => pair,
    );
    expect(known).toEqual([
      ["memory", "0"],
      ["fd", "0"],
    ]);
    expect(sampleOf(body, "evenkeel_capacity_storage_bytes")).toBeNull();
    const expected = { cpu: "none", memory: "ok", pid: "none", fd: "ok", disk: "none", capacity: "ok" };
    for (const [source, now] of Object.entries(expected)) {
      expect(Number(sampleOf(body, `evenkeel_sample_age_seconds{source="${source}"}`))).toBeGreaterThan(0);
      expect(Number(sampleOf(body, `evenkeel_sample_duration_seconds{source="${source}"}`))).toBeGreaterThan(0);
      const outcomes = (["ok", "none", "failed", "missed"] as const).filter(
        (each) => sampleOf(body, outcomeSeries(source, each)) === "1",
      );
      expect(outcomes).toEqual([now]);
    }
  });

  it("leaves capacity out before it is known", async () => {
    const tree = new LivingTree("v2");
    tree.write("proc/meminfo", "");
    tree.write("sys/devices/system/cpu/online", "?\n");
    await using daemon = await startDaemon({ tree: tree.path, args: ["--interval", "5m"] });
    expect((await daemon.get("/metrics")).body).not.toMatch(/^evenkeel_capacity/m);
  });
});
