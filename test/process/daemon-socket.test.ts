import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { cleanEnvironment, DaemonProcess, startDaemon } from "./daemon-process.ts";
import { type CommandResult, evenkeel } from "./evenkeel-command.ts";
import { openConnection } from "./socket-client.ts";

const TREE = join(import.meta.dirname, "../../fixtures/kernel/v2");
const MAIN = join(import.meta.dirname, "../../src/main.ts");
const ROOTS = ["--proc", join(TREE, "proc"), "--sys", join(TREE, "sys")];
const STOP_WITHIN_MS = 5_000;

/** A user of this machine that nobody else is. */
const STRANGER = 64_711;

describe("the socket of a daemon", () => {
  it("is read and written by owner and group only", async () => {
    await using daemon = await startDaemon({ tree: TREE });
    const stats = statSync(daemon.socket);
    expect(stats.isSocket()).toBe(true);
    expect(stats.mode & 0o777).toBe(0o660);
    // Nothing else is left in its folder.
    expect(readdirSync(dirname(daemon.socket))).toEqual(["resource.sock"]);
  });

  it("has its folder made for it", async () => {
    const socket = join(temporaryFolder(), "not", "there", "yet.sock");
    await using daemon = await startDaemon({ tree: TREE, socket });
    expect((await daemon.get("/resource")).status).toBe(200);
  });

  it.each(["SIGTERM", "SIGINT"] as const)(
    "is gone after %s, even with clients connected, and the daemon exits 0",
    async (signal) => {
      await using daemon = await startDaemon({ tree: TREE });
      const idle = await openConnection(daemon.socket);
      idle.on("error", () => undefined);
      const { code, tookMs } = await daemon.stop(signal);
      idle.destroy();
      expect(code).toBe(0);
      expect(tookMs).toBeLessThan(STOP_WITHIN_MS);
      expect(existsSync(daemon.socket)).toBe(false);
      expect(daemon.logged(`stopping on ${signal}`)).toBe(1);
    },
  );

  it("is left stale by SIGKILL, and replaced by the next daemon", async () => {
    const socket = await staleSocket();
    const before = lstatSync(socket);
    await using daemon = await startDaemon({ tree: TREE, socket });
    expect((await daemon.get("/resource")).status).toBe(200);
    expect(lstatSync(socket).ino).not.toBe(before.ino);
    expect(lstatSync(socket).mode & 0o777).toBe(0o660);
  });

  it("stays with the daemon that serves there: a second one says so and exits 1", async () => {
    await using first = await startDaemon({ tree: TREE });
    const before = lstatSync(first.socket);
    const second = await daemonAt(first.socket);
    expectRefusal(second, [first.socket, "already serving"]);
    expect(lstatSync(first.socket).ino).toBe(before.ino);
    expect((await first.get("/resource")).status).toBe(200);
  });

  it("stays with whatever else listens there", async () => {
    const socket = join(temporaryFolder(), "foreign.sock");
    const server = createServer().listen(socket);
    onTestFinished(() => void server.close());
    expectRefusal(await daemonAt(socket), [socket, "already serving"]);
    expect(existsSync(socket)).toBe(true);
  });

  it("goes to exactly one of two daemons that start at the same moment on a stale one", async () => {
    const socket = await staleSocket();
    await using one = new DaemonProcess({ tree: TREE, socket });
    await using other = new DaemonProcess({ tree: TREE, socket });
    const outcomes = await Promise.all([one.outcome(), other.outcome()]);
    expect(outcomes.toSorted()).toEqual([1, "serving"]);
    const [winner, loser] = outcomes[0] === "serving" ? [one, other] : [other, one];
    expect((await winner.get("/resource")).status).toBe(200);
    expect(loser.stderr).toMatch(/^evenkeel: .+\n$/);
    expect((await winner.stop()).code).toBe(0);
    expect(existsSync(socket)).toBe(false);
  });

  it("is not taken away by a daemon whose socket somebody else has replaced", async () => {
    await using daemon = await startDaemon({ tree: TREE });
    rmSync(daemon.socket);
    const server = createServer().listen(daemon.socket);
    onTestFinished(() => void server.close());
    expect((await daemon.stop()).code).toBe(0);
    expect(existsSync(daemon.socket)).toBe(true);
  });
});

describe("what is not a socket is left alone", () => {
  it("an ordinary file", async () => {
    const path = join(temporaryFolder(), "notes.txt");
    writeFileSync(path, "important");
    expectRefusal(await daemonAt(path), [path, "not a socket"]);
    expect(readFileSync(path, "utf8")).toBe("important");
  });

  it("a directory", async () => {
    const path = join(temporaryFolder(), "folder");
    mkdirSync(path);
    expectRefusal(await daemonAt(path), [path, "not a socket"]);
    expect(statSync(path).isDirectory()).toBe(true);
  });

  it("a symlink, to a live daemon's socket or to nothing", async () => {
    await using daemon = await startDaemon({ tree: TREE });
    const folder = temporaryFolder();
    for (const target of [daemon.socket, join(folder, "nothing")]) {
      const path = join(folder, "link.sock");
      symlinkSync(target, path);
      expectRefusal(await daemonAt(path), [path, "not a socket"]);
      expect(readlinkSync(path)).toBe(target);
      rmSync(path);
    }
    expect((await daemon.get("/resource")).status).toBe(200);
  });

  it("a file in place of a folder of the path", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "file"), "");
    expectRefusal(await daemonAt(join(folder, "file", "resource.sock")), ["not a folder"]);
  });
});

it("refuses a path that no Unix socket can have", async () => {
  const path = join(temporaryFolder(), "x".repeat(120));
  expectRefusal(await daemonAt(path), [path, "too long"]);
});

// Only root can become somebody else, and that user must be able to read this checkout.
const strangerCanRun =
  process.getuid?.() === 0 &&
  spawnSync(process.execPath, [MAIN, "--version"], { uid: STRANGER, gid: STRANGER, env: cleanEnvironment() }).status ===
    0;

describe.skipIf(!strangerCanRun)("as a user without rights (takes root and a checkout that others can read)", () => {
  it("says that it may not write there", async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o755);
    expectRefusal(await daemonAt(join(folder, "resource.sock"), STRANGER), [folder, "permission denied"]);
    expectRefusal(await daemonAt(join(folder, "deeper", "resource.sock"), STRANGER), [folder, "permission denied"]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("says that it may not know who serves there", async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o777);
    await using daemon = await startDaemon({ tree: TREE, socket: join(folder, "resource.sock") });
    expectRefusal(await daemonAt(daemon.socket, STRANGER), [daemon.socket, "permission denied"]);
    expect((await daemon.get("/resource")).status).toBe(200);
  });

  it("serves by default in a private folder of its own, and in nobody else's", async () => {
    const folder = `/tmp/evenkeel-${STRANGER}`;
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    await using daemon = new DaemonProcess({ tree: TREE, socket: null, uid: STRANGER });
    expect(await daemon.outcome()).toBe("serving");
    expect(daemon.logged(`serving GET /resource on ${folder}/resource.sock`)).toBe(1);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect((await daemon.stop()).code).toBe(0);

    rmSync(folder, { recursive: true });
    mkdirSync(folder, { mode: 0o777 });
    chmodSync(folder, 0o777);
    expectRefusal(await evenkeel(["daemon", ...ROOTS], { uid: STRANGER }), [folder, "mode 0700"]);
    chownSync(folder, STRANGER, STRANGER);
    expectRefusal(await evenkeel(["daemon", ...ROOTS], { uid: STRANGER }), [folder, "mode 0700"]);
    chmodSync(folder, 0o700);
    await using again = new DaemonProcess({ tree: TREE, socket: null, uid: STRANGER });
    expect(await again.outcome()).toBe("serving");
  });

  it("serves by default below XDG_RUNTIME_DIR", async () => {
    const runtime = temporaryFolder();
    chownSync(runtime, STRANGER, STRANGER);
    const env = { XDG_RUNTIME_DIR: runtime };
    await using daemon = new DaemonProcess({ tree: TREE, socket: null, uid: STRANGER, env });
    expect(await daemon.outcome()).toBe("serving");
    expect(statSync(join(runtime, "evenkeel", "resource.sock")).isSocket()).toBe(true);
  });
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "evenkeel-socket-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A socket that a killed daemon has left behind. */
async function staleSocket(): Promise<string> {
  const socket = join(temporaryFolder(), "resource.sock");
  await using daemon = await startDaemon({ tree: TREE, socket });
  expect((await daemon.stop("SIGKILL")).code).toBeNull();
  expect(statSync(socket).isSocket()).toBe(true);
  return socket;
}

function daemonAt(socket: string, uid?: number): Promise<CommandResult> {
  return evenkeel(["daemon", "--socket", socket, ...ROOTS], uid === undefined ? {} : { uid });
}

/** Exit code 1 and one line that holds each of the parts. */
function expectRefusal({ code, stdout, stderr }: CommandResult, parts: readonly string[]): void {
  expect(stderr).toMatch(/^evenkeel: [^\n]+\n$/);
  for (const part of parts) expect(stderr).toContain(part);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
}
