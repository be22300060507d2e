import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { DaemonProcess, startDaemon } from "./daemon-process.ts";
import { evenkeel } from "./evenkeel-command.ts";
import { LivingTree } from "./living-tree.ts";

const TREE = join(import.meta.dirname, "../../fixtures/kernel/all-limits");
const ROOTS = ["--proc", join(TREE, "proc"), "--sys", join(TREE, "sys")];

describe("a wrong call exits 2 with one line that names the field", () => {
  it.each([
    [["--interval", "99ms"], "--interval"],
    [["--interval", "6m"], "--interval"],
    [["--interval", "5"], "--interval"],
    [["--interval", "fast"], "--interval"],
    [["--filestore-overcommit-ratio", "0.99"], "--filestore-overcommit-ratio"],
    [["--filestore-overcommit-ratio", "NaN"], "--filestore-overcommit-ratio"],
    [["--filestore-overcommit-ratio", "Infinity"], "--filestore-overcommit-ratio"],
    [["--sandbox-cgroup", "../other"], "--sandbox-cgroup"],
    [["--sandbox-cgroup", "a/../b"], "--sandbox-cgroup"],
    [["--node-id", "two words"], "--node-id"],
    [["--node-id", ""], "--node-id"],
    [["--socket", ""], "--socket"],
    [["--log-level", "loud"], "--log-level"],
    [["--log-format", "xml"], "--log-format"],
    [["--no-such-flag"], "--no-such-flag"],
    [["--interval"], "--interval"],
    [["surplus"], "argument"],
    [["--config", "/nonexistent/evenkeel.toml"], "/nonexistent/evenkeel.toml"],
  ])("%j", async (args, named) => {
    const { code, stdout, stderr } = await evenkeel(["daemon", ...ROOTS, ...args]);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stderr).toContain(named);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });

  it.each([
    ["broken.toml", "interval = ", "broken.toml"],
    ["broken.json", '{"interval":', "broken.json"],
    ["list.json", "[]", "list.json"],
    ["unknown.toml", 'intervall = "5s"\n', "intervall"],
    ["bad-value.toml", 'interval = "50ms"\n', "interval in "],
    ["bad-type.json", '{"filestore_overcommit_ratio": "a lot"}', "filestore_overcommit_ratio in "],
  ])("a file: %s", async (name, text, named) => {
    const file = configuration(name, text);
    const { code, stderr } = await evenkeel(["daemon", ...ROOTS, "--config", file]);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stderr).toContain(named);
    expect(stderr).toContain(file);
    expect(code).toBe(2);
  });

  it("an environment variable", async () => {
    const { code, stderr } = await evenkeel(["daemon", ...ROOTS], { env: { EVENKEEL_INTERVAL: "soon" } });
    expect(stderr).toMatch(/^evenkeel: EVENKEEL_INTERVAL: [^\n]+\n$/);
    expect(code).toBe(2);
  });

  it("no command, or one that does not exist", async () => {
    expect((await evenkeel([])).code).toBe(2);
    const unknown = await evenkeel(["demon"]);
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain("demon");
  });
});

describe("where settings come from", () => {
  const FILES = {
    "node.toml": 'node_id = "from-file"\ninterval = "3s"\nsocket = "/run/from-file.sock"\n',
    "node.json": '{"node_id":"from-file","interval":"3s","socket":"/run/from-file.sock"}',
  };

  it.each(Object.entries(FILES))("a flag wins over a variable, a variable over the file: %s", async (name, text) => {
    const file = configuration(name, text);
    const env = { EVENKEEL_NODE_ID: "from-variable", EVENKEEL_INTERVAL: "4s" };
    const { code, stdout } = await evenkeel(
      ["daemon", "--check", ...ROOTS, "--config", file, "--node-id", "from-flag"],
      { env },
    );
    expect(stdout).toContain("/run/from-file.sock as node from-flag\nand sample every 4s:");
    expect(code).toBe(0);
  });

  it("the file itself may be named by a variable, and the roots too", async () => {
    const file = configuration("node.toml", 'node_id = "from-file"\n');
    const env = { EVENKEEL_CONFIG: file, EVENKEEL_PROC: join(TREE, "proc"), EVENKEEL_SYS: join(TREE, "sys") };
    const { stdout } = await evenkeel(["daemon", "--check"], { env });
    expect(stdout).toContain("as node from-file\nand sample every 5s:");
    expect(stdout).toContain("32.5 CPUs, 96 GiB");
  });

  it("runs as the file says", async () => {
    const text = 'interval = "100ms"\nfilestore = "/dev/shm"\nfilestore_overcommit_ratio = 2\nnode_id = "node-7"\n';
    const args = ["--config", configuration("node.toml", text)];
    await using daemon = await startDaemon({ tree: TREE, args });
    expect((await daemon.resource()).features).toEqual(["storage-quota-v1"]);
    expect(daemon.stderr).toContain('"nodeId":"node-7"');
    await daemon.ticks(2, "memory");
  });
});

describe("--check", () => {
  it("shows what would be sampled from where, serves nothing, and exits 0", async () => {
    const args = ["daemon", "--check", ...ROOTS, "--socket", "/nonexistent/resource.sock", "--filestore", "/dev/shm"];
    const { code, stdout, stderr } = await evenkeel(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const rows = stdout.split("\n");
    const sources = ["cpu", "memory", "pid", "fd", "disk", "capacity"];
    for (const source of sources) expect(rows.filter((row) => row.startsWith(source))).toHaveLength(1);
    expect(stdout).toMatch(/^memory {2,}40\.0 % {2,}\S+proc\/meminfo {2,}25\.0 %$/m);
    expect(stdout).toMatch(/^ +\S+system\.slice\/evenkeel\.service +1\.0 %$/m);
    expect(stdout).toMatch(/^cpu {2,}unknown {2,}/m);
    expect(stdout).toMatch(/^disk {2,}\d+\.\d % {2,}\/dev\/shm/m);
  });

  it("names what cannot be read and exits 1", async () => {
    const tree = new LivingTree("all-limits");
    tree.write("proc/meminfo", "MemTotal: many kB\n");
    const { code, stdout } = await evenkeel(["daemon", "--check", "--proc", tree.at("proc"), "--sys", tree.at("sys")]);
    expect(stdout).toContain("Could not be read: memory, capacity.");
    expect(code).toBe(1);
  });
});

describe("without a Linux procfs", () => {
  it.each(["/nonexistent", "/dev/null", tmpdir()])("says so in one line and exits 1: %s", async (proc) => {
    const { code, stdout, stderr } = await evenkeel(["daemon", "--proc", proc]);
    expect(stderr).toMatch(/^evenkeel: [^\n]+ is not a Linux procfs; [^\n]+\n$/);
    expect(stderr).toContain(proc);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  });
});

describe("logs", () => {
  it("are JSON where nobody looks on, and pretty where asked for", async () => {
    await using json = await startDaemon({ tree: TREE });
    for (const line of json.stderr.trimEnd().split("\n")) expect(JSON.parse(line).level).toBeGreaterThanOrEqual(30);
    await using quiet = new DaemonProcess({ tree: TREE, args: ["--log-level", "silent"] });
    await quiet.settled();
    expect((await quiet.stop()).code).toBe(0);
    expect(quiet.stderr).toBe("");
    await using pretty = new DaemonProcess({ tree: TREE, args: ["--log-format", "pretty"] });
    await pretty.settled();
    expect((await pretty.stop()).code).toBe(0);
    expect(pretty.stderr).toMatch(/INFO.*serving GET \/resource on /);
  });
});

describe("the help", () => {
  it("shows every setting with its default, and not the roots for fixtures", async () => {
    const { code, stdout } = await evenkeel(["daemon", "--help"]);
    expect(code).toBe(0);
    const flags = ["socket", "node-id", "interval", "filestore", "filestore-overcommit-ratio", "sandbox-cgroup"];
    for (const flag of [...flags, "config", "check", "log-level", "log-format"]) expect(stdout).toContain(`--${flag} `);
    expect(stdout).not.toMatch(/--proc|--sys/);
    expect(stdout.split("\n").every((line) => line.length <= 120)).toBe(true);
  });

  it("prints the version", async () => {
    expect(await evenkeel(["--version"])).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      stderr: "",
    });
  });
});

function configuration(name: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "evenkeel-config-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}
