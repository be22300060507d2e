import { closeSync, constants, existsSync, openSync, symlinkSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type DaemonProcess, startDaemon } from "./daemon-process.ts";
import { FuseFilesystem, fuseUnavailable } from "./fuse-filesystem.ts";
import { LivingTree } from "./living-tree.ts";

/** Long enough that a busy machine's scheduler does not make a sampler miss a tick by itself. */
const INTERVAL_MS = 200;
const OFTEN = ["--interval", `${INTERVAL_MS}ms`];
const TICKS = 20;
/**
 * Where the machine itself held a sampler up for a tick, its neighbours have moved to a thread of their own, once; threads
 * that pile up would be one for each of the ticks.
 */
const MOVED_ONCE = 1;
const STOP_WITHIN_MS = 5_000;

/** Each file's only metric in a tree where it is the metric's only source that gives a ratio; and a source beside it. */
const FILES = [
  { file: "proc/stat", metric: "cpu", tree: "no-limits", beside: "fd" },
  { file: "proc/meminfo", metric: "memory", tree: "no-limits", beside: "fd" },
  { file: "proc/sys/fs/file-nr", metric: "fd", tree: "no-limits", beside: "memory" },
  { file: "proc/self/limits", metric: "fd", tree: "all-limits", beside: "memory" },
] as const;

describe.each(FILES)("a FIFO in place of $file", ({ file, metric, tree: name, beside }) => {
  it.each(["nobody has it open", "somebody has it open and writes nothing"])(
    "turns its source unknown, and nothing else: %s",
    async (writer) => {
      const tree = new LivingTree(name);
      // Where two files feed the metric, the other one gives nothing.
      if (file === "proc/self/limits") tree.write("proc/sys/fs/file-nr", "?\n");
      await using daemon = await startDaemon({ tree: tree.path, args: OFTEN });
      const before = await daemon.until(({ utilization }) => {
        if (metric === "cpu") tree.passTime();
        return utilization[metric] !== null && utilization[beside] !== null;
      });
      const threads = daemon.threadCount;

      tree.putFifo(file);
      if (writer !== "nobody has it open") keepOpen(tree.at(file));
      await daemon.untilOutcome(metric, "failed");
      await daemon.ticks(TICKS, beside);
      await daemon.untilOutcome(metric, "failed");
      const during = await daemon.until(({ utilization }) => utilization[beside] !== null);
      expect(during.utilization[metric]).toBeNull();
      expect(during.utilization[beside]).toBe(before.utilization[beside]);
      expect(daemon.threadCount).toBeLessThanOrEqual(threads + MOVED_ONCE);
      expect((await daemon.get("/healthz")).status).toBe(200);
      await expectQuickStop(daemon);
    },
  );
});

describe("what else may stand in place of a kernel file", () => {
  const IN_ITS_PLACE: readonly { readonly what: string; put(path: string): void }[] = [
    { what: "a dangling symlink", put: (path) => symlinkSync("/nonexistent/file", path) },
    { what: "a symlink to itself", put: (path) => symlinkSync(path, path) },
    { what: "a device that never ends", put: (path) => symlinkSync("/dev/zero", path) },
    { what: "a terminal's device", put: (path) => symlinkSync("/dev/tty", path) },
    { what: "a Unix socket", put: (path) => void keepListening(path) },
    { what: "a memory file that is not mapped", put: (path) => symlinkSync("/proc/self/mem", path) },
  ];

  it.each(IN_ITS_PLACE)("$what: memory is unknown, the others go on, and it recovers", async ({ put }) => {
    const tree = new LivingTree("no-limits");
    const meminfo = tree.read("proc/meminfo");
    await using daemon = await startDaemon({ tree: tree.path, args: OFTEN });
    const threads = daemon.threadCount;
    tree.remove("proc/meminfo");
    put(tree.at("proc/meminfo"));
    await daemon.untilOutcome("memory", "failed");
    await daemon.ticks(5, "fd");
    const during = await daemon.until(({ utilization }) => utilization.fd === 0);
    expect(during.utilization.memory).toBeNull();
    expect(daemon.threadCount).toBeLessThanOrEqual(threads + MOVED_ONCE);
    expect(daemon.logged("failed")).toBe(0);
    tree.remove("proc/meminfo");
    tree.write("proc/meminfo", meminfo);
    expect((await daemon.until(({ utilization }) => utilization.memory !== null)).utilization.memory).toBe(0);
    await expectQuickStop(daemon);
  });

  it("a directory: memory is unknown and the others go on", async () => {
    const tree = new LivingTree("no-limits");
    await using daemon = await startDaemon({ tree: tree.path, args: OFTEN });
    tree.remove("proc/meminfo");
    tree.write("proc/meminfo/file", "");
    await daemon.untilOutcome("memory", "failed");
    const during = await daemon.until(({ utilization }) => utilization.fd === 0);
    expect(during.utilization.memory).toBeNull();
    expect(daemon.logged("failed")).toBe(0);
  });
});

const withoutFuse = fuseUnavailable();

// A thread that truly sleeps in the kernel takes a filesystem that does not answer. Where the test cannot mount one of
// its own (no root, no /dev/fuse), threads that block on a FIFO are tested with the actor kernel.
describe.skipIf(withoutFuse !== null)(`a thread that sleeps in statfs${withoutFuse ? ` (${withoutFuse})` : ""}`, () => {
  const COUNTS = { blocks: 1000n, availableBlocks: 250n, fragmentBytes: 4096 };

  async function startOn(filestore: FuseFilesystem, tree: LivingTree): Promise<DaemonProcess> {
    return startDaemon({ tree: tree.path, args: [...OFTEN, "--filestore", filestore.path] });
  }

  it("costs its own key only, one thread at most, one log line, and is used again when it comes back", async () => {
    const tree = new LivingTree("no-limits");
    using filestore = new FuseFilesystem(COUNTS);
    await using daemon = await startOn(filestore, tree);
    const before = await daemon.resource();
    expect(before.utilization.disk).toBe(0.75);
    const threads = daemon.threadCount;
    // An interval shorter than a thread's start may have had it silent once already.
    const silences = daemon.logged("disk is unknown");
    const recoveries = daemon.logged("disk is sampled again");

    using _held = filestore.hold();
    await daemon.untilOutcome("disk", "missed");
    await daemon.ticks(TICKS, "memory");
    const during = await daemon.until(({ utilization }) => {
      tree.passTime();
      return utilization.cpu === 0.45 && utilization.memory === 0 && utilization.fd === 0;
    });
    expect(during.utilization.disk).toBeNull();
    expect(during.storage).toBe(before.storage);
    expect(filestore.heldCount).toBe(1);
    expect(daemon.threadCount).toBeLessThanOrEqual(threads + MOVED_ONCE);
    expect(daemon.logged("disk is unknown") - silences).toBe(1);
    expect((await daemon.get("/healthz")).status).toBe(200);

    filestore.counts = { ...COUNTS, availableBlocks: 500n };
    filestore.release();
    const after = await daemon.until(({ utilization }) => utilization.disk !== null);
    expect(after.utilization.disk).toBe(0.5);
    expect(after.storage).toBe(500 * 4096);
    expect(daemon.threadCount).toBeLessThanOrEqual(threads + MOVED_ONCE);
    // Its late answer was an answer: the next tick does not find it silent.
    await daemon.ticks(5, "disk");
    expect(daemon.logged("disk is unknown") - silences).toBe(1);
    expect(daemon.logged("disk is sampled again") - recoveries).toBe(1);
    await expectQuickStop(daemon);
  });

  it("counts an answer that comes late", async () => {
    const tree = new LivingTree("no-limits");
    using filestore = new FuseFilesystem(COUNTS);
    await using daemon = await startOn(filestore, tree);
    using _held = filestore.hold();
    await daemon.until(({ utilization }) => utilization.disk === null);
    // The one request that was held is answered, the next one is held: what is seen then is the late answer.
    filestore.counts = { ...COUNTS, availableBlocks: 100n };
    filestore.release();
    using _again = filestore.hold();
    const late = await daemon.until(({ utilization }) => utilization.disk !== null);
    expect(late.utilization.disk).toBe(0.9);
  });

  it("leaves no socket within 5 s of SIGTERM, says why the process stays, and exits 0 when it can", async () => {
    const tree = new LivingTree("no-limits");
    using filestore = new FuseFilesystem(COUNTS);
    await using daemon = await startOn(filestore, tree);
    using _held = filestore.hold();
    await daemon.until(({ utilization }) => utilization.disk === null);
    await vi.waitFor(() => expect(filestore.heldCount).toBe(1));

    daemon.signal("SIGTERM");
    await vi.waitFor(() => expect(existsSync(daemon.socket)).toBe(false), { timeout: STOP_WITHIN_MS, interval: 20 });
    await vi.waitFor(() => expect(daemon.logged("sits in a system call")).toBe(1), {
      timeout: STOP_WITHIN_MS,
      interval: 20,
    });
    filestore.release();
    expect(await daemon.exited()).toBe(0);
  });

  it("moves the sources that share a thread with it to another, within a tick or two", async () => {
    const tree = new LivingTree("no-limits");
    using filestore = new FuseFilesystem(COUNTS);
    await using daemon = await startDaemon({ tree: tree.path, args: OFTEN });
    await daemon.until(({ cpu }) => cpu === 4);
    const threads = daemon.threadCount;
    // Whatever is opened below a filesystem that does not answer sleeps, O_NONBLOCK or not.
    using _held = filestore.holdEverything();
    tree.remove("proc/meminfo");
    symlinkSync(`${filestore.path}/meminfo`, tree.at("proc/meminfo"));
    // `capacity` reads meminfo too: two threads sleep, and the other sources have a third. How many that makes is not
    // known: an interval shorter than a thread's start may have had one moved already.
    for (const source of ["memory", "capacity"]) await daemon.untilOutcome(source, "missed");
    await daemon.ticks(TICKS, "fd");
    const during = await daemon.until(({ utilization }) => {
      tree.passTime();
      return utilization.cpu === 0.45 && utilization.fd === 0;
    });
    expect(during.utilization.memory).toBeNull();
    expect(during.cpu).toBe(4);
    // Where they moved once too often, `capacity` was among them, and sleeps in a thread more.
    expect(daemon.threadCount - threads).toBeLessThanOrEqual(2 + 2 * MOVED_ONCE);

    filestore.release();
    // The link leads to a file that the filesystem says it has not.
    await daemon.untilOutcome("memory", "failed");
    const meminfo = new LivingTree("no-limits").read("proc/meminfo");
    tree.remove("proc/meminfo");
    tree.write("proc/meminfo", meminfo);
    expect((await daemon.until(({ utilization }) => utilization.memory !== null)).utilization.memory).toBe(0);
    await expectQuickStop(daemon);
  });
});

async function expectQuickStop(daemon: DaemonProcess): Promise<void> {
  const { code, tookMs } = await daemon.stop();
  expect(code).toBe(0);
  expect(tookMs).toBeLessThan(STOP_WITHIN_MS);
  expect(existsSync(daemon.socket)).toBe(false);
}

/** Holds a FIFO open for reading and writing, as a writer that never writes. */
function keepOpen(path: string): void {
  const descriptor = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(descriptor));
}

function keepListening(path: string): Server {
  const server = createServer().listen(path);
  onTestFinished(() => void server.close());
  return server;
}
