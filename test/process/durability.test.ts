import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { evenkeel } from "./evenkeel-command.ts";
import type { SchedulerProcess } from "./scheduler-process.ts";
import {
  GIB,
  hasPrlimit,
  limitFileSize,
  mountTmpfs,
  ONE_CPU,
  report,
  reserve,
  StateDirectory,
  untilStatus,
  type WireGrant,
  type WireScheduled,
} from "./state-directory.ts";

interface WireNode {
  readonly node_id: string;
  readonly cordoned: boolean;
  readonly conditions: readonly { readonly type: string }[];
  readonly reservations: { readonly pending: number; readonly confirmed: number };
  readonly in_flight: { readonly cpu: number; readonly count: number };
}

async function reservationsOf(scheduler: SchedulerProcess, state: string): Promise<WireGrant[]> {
  const path = `/v1/reservations?state=${state}`;
  return (await scheduler.call<{ reservations: WireGrant[] }>("GET", path)).body.reservations;
}

async function idsIn(scheduler: SchedulerProcess, state: string): Promise<string[]> {
  return (await reservationsOf(scheduler, state)).map(({ id }) => id).sort();
}

const post = (scheduler: SchedulerProcess, path: string, body: object = {}) =>
  scheduler.call<WireScheduled>("POST", path, body);

describe("after kill -9 and a start on the same directory", () => {
  test("every answer still holds, nodes are awaited, and readiness comes with their reports", async () => {
    using state = new StateDirectory();
    const grants: Record<string, WireGrant> = {};
    {
      await using scheduler = await state.start();
      for (const nodeId of ["a", "b", "gone"]) await report(scheduler, nodeId);
      await scheduler.call("DELETE", "/v1/nodes/gone?service_instance_id=gone-1");
      for (const name of ["pending", "confirmed", "cancelled", "renewed", "uncertain"]) {
        grants[name] = await reserve(scheduler, name);
      }
      await post(scheduler, `/v1/reservations/${grants.confirmed?.token}/confirm`, { sandbox_id: "s1" });
      await post(scheduler, `/v1/reservations/${grants.cancelled?.token}/cancel`, { reason: "refused" });
      await post(scheduler, `/v1/reservations/${grants.renewed?.token}/renew`);
      await post(scheduler, `/v1/reservations/${grants.uncertain?.token}/uncertain`);
      await post(scheduler, "/v1/nodes/b/cordon", { reason: "disk swap" });
      for (let sequence = 1; sequence <= 6; sequence++) {
        await scheduler.call("POST", "/v1/nodes/a/heartbeat", {
          service_instance_id: "daemon-a",
          resource_sequence: sequence,
          resource: { cpu: 16, mem: 64 * GIB, xpu: [], features: [], utilization: { memory: 0.95 } },
        });
      }
      const nodes = (await scheduler.call<{ nodes: WireNode[] }>("GET", "/v1/nodes")).body.nodes;
      expect(nodes.find(({ node_id }) => node_id === "a")?.conditions).toMatchObject([{ type: "MEMORY_PRESSURE" }]);
      await scheduler.stop("SIGKILL");
    }
    await using scheduler = await state.start();
    const ready = await scheduler.call<WireScheduled>("GET", "/readyz");
    expect(ready).toMatchObject({ status: 503, body: { error: { code: "unavailable" } } });
    expect((await post(scheduler, "/v1/schedule", ONE_CPU)).status).toBe(503);
    expect((await scheduler.call("GET", "/healthz")).status).toBe(200);

    const ids = (...names: string[]): string[] => names.map((name) => grants[name]?.id ?? "").sort();
    expect(await idsIn(scheduler, "pending")).toEqual(ids("pending", "renewed", "uncertain"));
    expect(await idsIn(scheduler, "confirmed")).toEqual(ids("confirmed"));
    expect(await idsIn(scheduler, "cancelled")).toEqual(ids("cancelled"));
    for (const { id, expires_at } of await reservationsOf(scheduler, "pending")) {
      // Restarted within seconds, the wall clock leaves what there was, of the uncertain one at least 60 s.
      const before = Object.values(grants).find((grant) => grant.id === id);
      const movedMs = Date.parse(expires_at) - Date.parse(before?.expires_at ?? "");
      if (id === grants.uncertain?.id) expect(movedMs).toBeLessThan(0);
      else expect(Math.abs(movedMs)).toBeLessThan(5_000);
    }
    const { nodes } = (await scheduler.call<{ nodes: WireNode[] }>("GET", "/v1/nodes")).body;
    expect(nodes.map(({ node_id, cordoned }) => [node_id, cordoned])).toEqual([
      ["a", false],
      ["b", true],
    ]);
    expect(nodes[0]?.conditions).toMatchObject([{ type: "MEMORY_PRESSURE" }]);
    expect(nodes.reduce((sum, node) => sum + node.in_flight.cpu, 0)).toBe(4);
    const found = await scheduler.call("GET", "/v1/sandboxes/s1");
    expect(found).toMatchObject({ status: 200, body: { node: { node_id: grants.confirmed?.node_id } } });

    for (const nodeId of ["a", "b"]) await report(scheduler, nodeId);
    expect(await scheduler.call("GET", "/readyz")).toMatchObject({ status: 200 });
    expect(await reserve(scheduler, "pending")).toMatchObject({
      id: grants.pending?.id,
      token: grants.pending?.token,
    });
    const again = await post(scheduler, `/v1/reservations/${grants.confirmed?.token}/confirm`, { sandbox_id: "s1" });
    expect(again).toMatchObject({ status: 200, body: { reservation: { state: "confirmed" } } });
    const late = await post(scheduler, `/v1/reservations/${grants.cancelled?.token}/confirm`, { sandbox_id: "s2" });
    expect(late.status).toBe(409);
  });

  test("a second process on the directory is told who holds it, and leaves with 1", async () => {
    using state = new StateDirectory();
    await using first = await state.start();
    const { code, stderr } = await evenkeel(["scheduler", "--http", "127.0.0.1:0", "--state-dir", state.path]);
    expect(code).toBe(1);
    expect(stderr.trimEnd().split("\n").at(-1)).toMatch(
      new RegExp(`^evenkeel: ${state.path}: held by process ${first.pid} on \\S+, since \\S+Z; stop it, or choose`),
    );
    await first.stop("SIGKILL");
    await using second = await state.start();
    expect((await second.call("GET", "/healthz")).status).toBe(200);
  });
});

describe("while the disk fails", () => {
  interface Fault {
    readonly name: string;
    /** Null where this machine cannot be made to fail so. */
    readonly prepare: (state: StateDirectory) => {
      fail(scheduler: SchedulerProcess): void;
      mend(scheduler: SchedulerProcess): void;
      done(): void;
    } | null;
  }

  const faults: readonly Fault[] = [
    {
      name: "files cannot grow",
      prepare: () =>
        hasPrlimit()
          ? {
              fail: ({ pid = 0 }) => limitFileSize(pid, 1),
              mend: ({ pid = 0 }) => limitFileSize(pid, null),
              done: () => undefined,
            }
          : null,
    },
    {
      name: "no space is left",
      prepare: (state) => {
        mkdirSync(state.path);
        const mounted = mountTmpfs(state.path, 1_000_000);
        const filler = join(state.path, "filler");
        return mounted === null
          ? null
          : {
              fail: () => fillDisk(filler),
              mend: () => rmSync(filler),
              done: () => mounted.unmount(),
            };
      },
    },
    {
      name: "its files are removed",
      prepare: (state) => ({
        fail: () => rmSync(state.journal),
        mend: () => undefined,
        done: () => undefined,
      }),
    },
  ];

  test.for(faults)("$name: nothing is promised, and it recovers by itself", async ({ prepare }, { skip }) => {
    using state = new StateDirectory();
    const fault = prepare(state);
    if (fault === null) return skip("this machine lets the test neither mount a file system nor limit a process");
    try {
      await using scheduler = await state.start();
      await report(scheduler, "a");
      const kept = await reserve(scheduler, "kept");
      fault.fail(scheduler);
      const failing = await post(scheduler, "/v1/schedule", { ...ONE_CPU, request_id: "failing" });
      expect(failing).toMatchObject({
        status: 503,
        body: { error: { code: "unavailable", details: { retry: "unknown" } } },
      });
      expect(await scheduler.call("GET", "/readyz")).toMatchObject({ status: 503 });
      expect(await post(scheduler, "/v1/schedule", ONE_CPU)).toMatchObject({
        status: 503,
        body: { error: { details: { retry: "unchanged" } } },
      });
      expect((await scheduler.call("GET", "/healthz")).status).toBe(200);
      fault.mend(scheduler);
      await untilStatus(scheduler, "/v1/nodes", 200);
      await report(scheduler, "a");
      await untilStatus(scheduler, "/readyz", 200);
      const repeated = await reserve(scheduler, "failing");
      expect(await idsIn(scheduler, "pending")).toEqual([kept.id, repeated.id].sort());
      await scheduler.stop("SIGKILL");
      await using next = await state.start();
      expect(await idsIn(next, "pending")).toEqual([kept.id, repeated.id].sort());
    } finally {
      fault.done();
    }
  });

  test("a directory that cannot be written is refused at the start, in one line", async ({ skip }) => {
    using state = new StateDirectory();
    mkdirSync(state.path);
    const mounted = mountTmpfs(state.path, 1_000_000);
    if (mounted === null) return skip("this machine lets nobody mount a file system");
    try {
      mounted.remount("ro");
      const { code, stderr } = await evenkeel(["scheduler", "--http", "127.0.0.1:0", "--state-dir", state.path]);
      expect([code, stderr.split("\n").at(-2)]).toEqual([1, expect.stringMatching(/^evenkeel: .*state: .*/)]);
    } finally {
      mounted.unmount();
    }
  });

  test("a journal that was exchanged for an older one is not gone on from", async () => {
    using state = new StateDirectory();
    const older = join(state.path, "..", "older.sqlite");
    {
      await using scheduler = await state.start();
      await report(scheduler, "a");
      await scheduler.stop();
    }
    copyFileSync(state.journal, older);
    await using scheduler = await state.start();
    await report(scheduler, "a");
    const kept = await reserve(scheduler);
    for (const ending of ["", "-wal", "-shm"]) rmSync(state.journal + ending, { force: true });
    copyFileSync(older, state.journal);
    expect((await post(scheduler, `/v1/reservations/${kept.token}/renew`)).status).toBe(503);
    await untilLogged(scheduler, /is an older or another journal .*: batch \d+ was promised and is not in it/);
    expect(await scheduler.call("GET", "/readyz")).toMatchObject({ status: 503 });
  });
});

function fillDisk(path: string): void {
  try {
    for (let megabytes = 0; megabytes < 8; megabytes++) writeFileSync(path, Buffer.alloc(65_536), { flag: "a" });
    for (;;) writeFileSync(path, Buffer.alloc(4_096), { flag: "a" });
  } catch {
    // Full.
  }
}

async function untilLogged(scheduler: SchedulerProcess, pattern: RegExp): Promise<void> {
  await expect.poll(() => scheduler.stderr, { timeout: 20_000 }).toMatch(pattern);
}

describe("a file that cannot be used: it does not start, says what and where in one line, and changes nothing", () => {
  const files: readonly { name: string; make: (path: string) => void; says: RegExp }[] = [
    {
      name: "noise",
      make: (path) => writeFileSync(path, "not a database\n".repeat(1_000)),
      says: /journal\.sqlite: file is not a database$/,
    },
    {
      name: "a page of noise",
      make: (path) => {
        const bytes = readFileSync(path);
        bytes.fill(0xa5, 8_192, 12_288);
        writeFileSync(path, bytes);
      },
      says: /journal\.sqlite: /,
    },
    { name: "cut off", make: (path) => truncateSync(path, 12_288), says: /journal\.sqlite: / },
    {
      name: "a row that was changed",
      make: (path) => query(path, `UPDATE batches SET body = replace(body, 'node_registered', 'node_dropped')`),
      says: /journal\.sqlite: batch 1 is damaged: its checksum differs$/,
    },
    {
      name: "another program's database",
      make: (path) => {
        rmSync(path);
        query(path, "CREATE TABLE theirs (x)");
      },
      says: /journal\.sqlite: a database of another program$/,
    },
    {
      name: "a newer schema",
      make: (path) => query(path, "PRAGMA user_version = 9"),
      says: /journal\.sqlite: written by a newer evenkeel \(schema 9, this one knows 1\); run that one$/,
    },
  ];
  test.for(files)("$name", async ({ make, says }) => {
    using state = new StateDirectory();
    {
      await using scheduler = await state.start();
      await report(scheduler, "a");
      await reserve(scheduler);
      await scheduler.stop();
    }
    make(state.journal);
    const before = readFileSync(state.journal);
    const { code, stderr } = await evenkeel(["scheduler", "--http", "127.0.0.1:0", "--state-dir", state.path]);
    expect(code).toBe(1);
    expect(stderr.split("\n").at(-2)).toMatch(says);
    expect(stderr.split("\n").filter((line) => line.startsWith("evenkeel: "))).toHaveLength(1);
    expect(readFileSync(state.journal).equals(before)).toBe(true);
    expect(existsSync(`${state.journal}.rescued`)).toBe(false);
  });
});

function query(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}
