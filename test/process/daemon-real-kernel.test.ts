import { closeSync, openSync, readdirSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, it, vi } from "vitest";
import { type DaemonProcess, memoryRatioNow, sampleOf, startDaemon } from "./daemon-process.ts";
import { LivingTree } from "./living-tree.ts";
import { openConnection } from "./socket-client.ts";

const OFTEN = ["--interval", "100ms"];
const OPEN_FILES_MAX = 1024;
const MORE_FILES = 500;
const GIB = 2 ** 30;

// The daemon reads Linux's procfs; elsewhere there is no kernel to test it on.
describe.skipIf(process.platform !== "linux")("on this machine's own kernel", () => {
  it("reports capacity within what the machine has, and every utilization a number or null", async () => {
    await using daemon = await startDaemon({ args: [...OFTEN, "--filestore", "/"] });
    const answer = await daemon.until(({ utilization }) => utilization.cpu !== null);
    expect(answer.cpu).toBeLessThanOrEqual(availableParallelism());
    expect(answer.mem).toBeGreaterThan(0);
    expect(answer.mem).toBeLessThanOrEqual(totalmem());
    if (answer.mem >= GIB) expect(answer.mem % GIB).toBe(0);
    expect(answer.storage).toBeGreaterThan(0);
    expect(Object.keys(answer.utilization)).toEqual(["cpu", "memory", "pid", "fd", "disk"]);
    const { pid, ...others } = answer.utilization;
    for (const value of [...Object.values(others), pid ?? 0]) {
      expect(value).toBeGreaterThanOrEqual(0);
      expect(value).toBeLessThanOrEqual(1);
    }
  });

  it("shows CPU load that the test makes", async () => {
    await using daemon = await startDaemon({ args: ["--interval", "500ms"] });
    const before = await leastCpu(daemon, 4);
    const burning = Array.from({ length: availableParallelism() }, () => new Worker("for (;;);", { eval: true }));
    try {
      // Every CPU is busy for a whole interval, whatever else runs beside the test.
      const during = await daemon.until(({ utilization }) => (utilization.cpu ?? 0) > 0.95);
      expect(during.utilization.cpu).toBeGreaterThanOrEqual(before);
    } finally {
      await Promise.all(burning.map((worker) => worker.terminate()));
    }
  });

  it("agrees with /proc/meminfo read beside it within 2 %", async () => {
    // Only the host's memory: a limit on the cgroup that the tests run in would be another number.
    const withoutCgroups = new LivingTree("no-limits");
    await using daemon = await startDaemon({ args: [...OFTEN, "--sys", withoutCgroups.at("sys")] });
    // The machine is at work meanwhile: one quiet moment of two reads side by side is enough.
    await vi.waitFor(
      async () => {
        const { utilization } = await daemon.resource();
        const beside = memoryRatioNow();
        expect(Math.abs((utilization.memory ?? 0) - beside) / beside).toBeLessThan(0.02);
      },
      { timeout: 15_000, interval: 20 },
    );
  });

  it("counts 500 files that a daemon has open from its start", async () => {
    const descriptor = openSync("/dev/null", "r");
    try {
      const inherited = new Array<number>(MORE_FILES).fill(descriptor);
      await using few = await startDaemon({ args: OFTEN, openFilesMax: OPEN_FILES_MAX });
      await using many = await startDaemon({ args: OFTEN, openFilesMax: OPEN_FILES_MAX, inherited });
      const [fewOpen, manyOpen] = [await openFiles(few), await openFiles(many)];
      // Connections of the test itself come and go beside them.
      expect(Math.abs(manyOpen - fewOpen - MORE_FILES)).toBeLessThanOrEqual(10);
    } finally {
      closeSync(descriptor);
    }
  });

  it("counts 500 files while a running daemon has them open, and no longer", async () => {
    await using daemon = await startDaemon({ args: OFTEN, openFilesMax: OPEN_FILES_MAX });
    const before = await openFiles(daemon);
    const connections = await Promise.all(Array.from({ length: MORE_FILES }, () => openConnection(daemon.socket)));
    const during = await daemon.until(({ utilization }) => filesIn(utilization.fd) >= before + MORE_FILES);
    expect(filesIn(during.utilization.fd)).toBeLessThanOrEqual(before + MORE_FILES + 2);
    for (const connection of connections) connection.destroy();
    const after = await daemon.until(({ utilization }) => filesIn(utilization.fd) <= before + 2);
    expect(filesIn(after.utilization.fd)).toBeGreaterThanOrEqual(before - 2);
  });

  it("answers /metrics with the same utilization as /resource", async () => {
    await using daemon = await startDaemon({ args: ["--interval", "5m", "--filestore", "/"] });
    const { utilization } = await daemon.resource();
    const { body } = await daemon.get("/metrics");
    for (const [metric, value] of Object.entries(utilization)) {
      const shown = sampleOf(body, `evenkeel_utilization_ratio{metric="${metric}"}`);
      expect(shown === null ? null : Number(shown)).toBe(value);
    }
  });

  it("runs on a few threads, and no more after many ticks", async () => {
    await using daemon = await startDaemon({ args: [...OFTEN, "--filestore", join("/", "dev", "shm")] });
    await daemon.ticks(5, "disk");
    const threads = daemon.threadCount;
    const descriptors = readdirSync(`/proc/${daemon.pid}/fd`).length;
    await daemon.ticks(30, "disk");
    // One more where a busy machine made samplers leave a thread that was late.
    expect(daemon.threadCount).toBeLessThanOrEqual(threads + 1);
    // A request of this test itself may or may not still be open.
    expect(readdirSync(`/proc/${daemon.pid}/fd`).length).toBeLessThanOrEqual(descriptors + 1);
  });
});

/** The least of the next readings: closest to what the machine does without the test. */
async function leastCpu(daemon: DaemonProcess, readings: number): Promise<number> {
  let least = 1;
  for (let reading = 0; reading < readings; reading++) {
    await daemon.ticks(1, "cpu");
    least = Math.min(least, (await daemon.resource()).utilization.cpu ?? 1);
  }
  return least;
}

/** The daemon's open files, told by its own fd ratio: its soft limit is far below the system's. */
async function openFiles(daemon: DaemonProcess): Promise<number> {
  await daemon.ticks(2, "fd");
  return filesIn((await daemon.until(({ utilization }) => utilization.fd !== null)).utilization.fd);
}

function filesIn(ratio: number | null): number {
  return Math.round((ratio ?? 0) * OPEN_FILES_MAX);
}
