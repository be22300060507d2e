import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { evenkeel } from "./evenkeel-command.ts";
import { LivingTree } from "./living-tree.ts";
import { RunningProgram } from "./running-program.ts";
import { socketRequest } from "./socket-client.ts";

// Several programs start in one test, on machines that do other things meanwhile.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 });

const FREE_PORT = "127.0.0.1:0";

let folder: string;
let socket: string;
let tree: LivingTree;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "evenkeel-up-"));
  socket = join(folder, "resource.sock");
  tree = new LivingTree("no-limits");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const upArguments = (http: string, socketPath = socket): string[] => [
  ...["up", "--http", http, "--socket", socketPath, "--interval", "100ms", "--node-id", "here"],
  ...["--proc", join(tree.path, "proc"), "--sys", join(tree.path, "sys"), "--log-format", "json"],
];

describe("evenkeel up", () => {
  test("runs a scheduler that knows this machine, says what to try, and Ctrl-C ends both", async () => {
    await using up = new RunningProgram(upArguments(FREE_PORT));
    await up.says(/Ctrl-C stops both\.\n/);
    const [, url = ""] = /a scheduler on (http:\/\/[\d.:]+), and this machine as its node here\./.exec(up.stdout) ?? [];
    expect(up.stdout).toContain(`  $ npx evenkeel nodes --scheduler ${url}\n`);
    expect(up.stdout).toContain(`  $ npx evenkeel resource --socket ${socket}\n`);
    await up.says(/reporting to the scheduler/);

    const tried = async (...args: string[]) => evenkeel([...args, "--scheduler", url]);
    expect((await tried("nodes")).stdout).toMatch(/^here +READY/m);
    const scheduled = await tried("schedule", "--cpu", "1", "--memory", "1MiB");
    const token = /rt_\S+/.exec(scheduled.stdout)?.[0] ?? "";
    expect(scheduled.stdout).toMatch(/^node +here$/m);
    expect((await tried("confirm", token, "my-sandbox")).stdout).toContain("is confirmed for sandbox my-sandbox");
    expect((await tried("reservations")).stdout).toMatch(/confirmed +here +my-sandbox/);
    expect((await tried("release", "my-sandbox")).code).toBe(0);
    const resource = await socketRequest({ socketPath: socket, path: "/resource", method: "GET" });
    expect(resource.status).toBe(200);

    const { code, tookMs } = await up.stop("SIGINT");
    expect(code).toBe(0);
    expect(tookMs).toBeLessThan(5_000);
    expect(readdirSync(folder)).toEqual([]);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

  test("says in one line that the port is taken, and leaves nothing behind", async () => {
    const holder = createServer();
    holder.listen(0, "127.0.0.1");
    await once(holder, "listening");
    const address = holder.address();
    const at = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const { code, stdout, stderr } = await evenkeel(upArguments(at));
    holder.close();
    expect([code, stdout]).toEqual([1, ""]);
    const complaints = stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
    expect(complaints).toEqual([expect.stringMatching(new RegExp(`^evenkeel: ${at} is taken by .*--http$`))]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("says in one line that the socket is taken, and leaves the other one alone", async () => {
    await using first = new RunningProgram(upArguments(FREE_PORT));
    await first.says(/Ctrl-C stops both/);
    const { code, stdout, stderr } = await evenkeel(upArguments(FREE_PORT));
    expect([code, stdout]).toEqual([1, ""]);
    const complaints = stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
    expect(complaints).toEqual([
      `evenkeel: ${socket}: a daemon is already serving there; stop it, or choose another path with --socket`,
    ]);
    expect(existsSync(socket)).toBe(true);
    expect((await socketRequest({ socketPath: socket, path: "/resource", method: "GET" })).status).toBe(200);
  });

  test("takes every other setting from its variable, and reports to its own scheduler only", async () => {
    await using up = new RunningProgram(upArguments(FREE_PORT), {
      EVENKEEL_SCHEDULER: "http://127.0.0.1:9",
      EVENKEEL_MAILBOX_CAPACITY: "many",
    });
    await up.says(/evenkeel: EVENKEEL_MAILBOX_CAPACITY: "many" is not a whole number/);
    await using second = new RunningProgram(upArguments(FREE_PORT), { EVENKEEL_SCHEDULER: "http://127.0.0.1:9" });
    const [, url] = await second.says(/a scheduler on (http:\/\/[\d.:]+),/);
    await second.says(new RegExp(`reporting to the scheduler at ${url}"`));
  });
});
