import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { cleanEnvironment, startDaemon } from "./daemon-process.ts";
import { evenkeel, startEvenkeel } from "./evenkeel-command.ts";
import { LivingTree } from "./living-tree.ts";

const FIXTURES = join(import.meta.dirname, "../../fixtures/kernel");

describe("evenkeel resource", () => {
  it("shows capacity, a bar for each metric, and unknown where there is null", async () => {
    await using daemon = await startDaemon({ tree: join(FIXTURES, "all-limits"), args: ["--interval", "5m"] });
    const { code, stdout, stderr } = await evenkeel(["resource", "--socket", daemon.socket]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const unknown = `${"·".repeat(24)}  unknown`;
    const bar = (filled: number, shown: string): string => `${"█".repeat(filled)}${"░".repeat(24 - filled)}   ${shown}`;
    expect(stdout.split("\n")).toEqual([
      "capacity  32 CPUs, 96 GiB memory",
      `cpu       ${unknown}`,
      `memory    ${bar(9, "40.0 %")}`,
      `pid       ${bar(7, "30.0 %")}`,
      `fd        ${bar(7, "30.0 %")}`,
      `disk      ${unknown}`,
      "",
    ]);
  });

  it("tells zero from unknown", async () => {
    await using daemon = await startDaemon({ tree: join(FIXTURES, "no-limits"), args: ["--interval", "5m"] });
    const { stdout } = await evenkeel(["resource", "--socket", daemon.socket]);
    expect(stdout).toContain(`memory    ${"░".repeat(24)}    0.0 %\n`);
    expect(stdout).toContain(`pid       ${"·".repeat(24)}  unknown\n`);
  });

  it("prints the daemon's own bytes with --json", async () => {
    const args = ["--interval", "5m", "--filestore", "/dev/shm", "--filestore-overcommit-ratio", "1e9"];
    await using daemon = await startDaemon({ tree: join(FIXTURES, "all-limits"), args });
    const { body } = await daemon.get("/resource");
    // Beyond 2^53, where parsing and printing again would change digits.
    expect(body).toMatch(/"storage":\d{17,}/);
    expect(await evenkeel(["resource", "--socket", daemon.socket, "--json"])).toEqual({
      code: 0,
      stdout: `${body}\n`,
      stderr: "",
    });
  });

  it("finds the socket by the environment too", async () => {
    await using daemon = await startDaemon({ tree: join(FIXTURES, "v2") });
    const { code, stdout } = await evenkeel(["resource"], { env: { EVENKEEL_SOCKET: daemon.socket } });
    expect(code).toBe(0);
    expect(stdout).toContain("capacity  2 CPUs, 512 MiB memory");
  });

  it("shows it again at each interval with --watch, until interrupted", async () => {
    const tree = new LivingTree("no-limits");
    await using daemon = await startDaemon({ tree: tree.path, args: ["--interval", "100ms"] });
    const watching = startEvenkeel(["resource", "--socket", daemon.socket, "--watch", "100ms"]);
    onTestFinished(() => void watching.kill("SIGKILL"));
    let shown = "";
    watching.stdout?.setEncoding("utf8").on("data", (text: string) => {
      shown += text;
    });
    const pages = (): string[] => shown.split("capacity  ").slice(1);
    await vi.waitFor(() => expect(pages().length).toBeGreaterThanOrEqual(3), { timeout: 10_000, interval: 20 });
    expect(pages()[0]).toMatch(/^4 CPUs/);
    tree.write("sys/devices/system/cpu/online", "0-1\n");
    await vi.waitFor(() => expect(pages().at(-1)).toMatch(/^2 CPUs/), { timeout: 10_000, interval: 20 });
    watching.kill("SIGINT");
    await once(watching, "close");
    expect(watching.signalCode).toBe("SIGINT");
    // A pipe gets no codes that move a cursor.
    expect(shown).not.toContain("\u001b");
  });

  it("ends quietly when whoever reads has seen enough", async () => {
    await using daemon = await startDaemon({ tree: join(FIXTURES, "no-limits"), args: ["--interval", "5m"] });
    const { status, stdout, stderr } = await inShell('{ "$@"; echo "exit code $?" >&2; } | head -n 3', [
      ...["resource", "--socket", daemon.socket, "--watch", "100ms"],
    ]);
    expect(stdout.split("\n").map((line) => line.split(" ")[0])).toEqual(["capacity", "cpu", "memory", ""]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "exit code 0\n" });
  });

  it("refuses a watch interval that is none", async () => {
    const { code, stderr } = await evenkeel(["resource", "--watch", "often"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^evenkeel: --watch: [^\n]+\n$/);
  });
});

describe("evenkeel resource without a daemon exits 1 and helps in one line", () => {
  it("where no socket is", async () => {
    await expectHelp("/nonexistent/resource.sock", "npx evenkeel daemon");
  });

  it("where a daemon was killed", async () => {
    const folder = temporaryFolder();
    await using daemon = await startDaemon({ tree: join(FIXTURES, "v2"), socket: join(folder, "resource.sock") });
    await daemon.stop("SIGKILL");
    await expectHelp(daemon.socket, "npx evenkeel daemon");
  });

  it("where an ordinary file is", async () => {
    const path = join(temporaryFolder(), "file");
    writeFileSync(path, "");
    await expectHelp(path, path);
  });

  it("where something else answers", async () => {
    await expectHelp(await serverThat((_, response) => void response.end("{}")), "not a node daemon");
    await expectHelp(await serverThat((_, response) => void response.end("hello")), "not a node daemon");
    await expectHelp(await serverThat((_, response) => void response.writeHead(503).end()), "503");
    await expectHelp(await serverThat((_, response) => void response.end("x".repeat(2 ** 21))), "not a node daemon");
  });
});

/** Runs a line of shell whose arguments are `evenkeel` with these of its own. */
async function inShell(line: string, args: readonly string[]) {
  const main = join(import.meta.dirname, "../../src/main.ts");
  const command = ["-c", line, "sh", process.execPath, main, ...args];
  const child = spawn("/bin/sh", command, { stdio: ["ignore", "pipe", "pipe"], env: cleanEnvironment() });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { status: child.exitCode, stdout, stderr };
}

async function expectHelp(socket: string, helps: string): Promise<void> {
  const { code, stdout, stderr } = await evenkeel(["resource", "--socket", socket]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^evenkeel: [^\n]+\n$/);
  expect(stderr).toContain(helps);
}

async function serverThat(answers: RequestListener): Promise<string> {
  const path = join(temporaryFolder(), "other.sock");
  const server = createServer(answers).listen(path);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return path;
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "evenkeel-resource-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
