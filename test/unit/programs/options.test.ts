import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { DAEMON_SETTINGS, defaultSocketPath } from "../../../src/programs/daemon-settings.ts";
import { resolveSettings, UsageError } from "../../../src/programs/options.ts";

const folder = mkdtempSync(join(tmpdir(), "ek-options-"));
function fileOf(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
const resolve = (given: { flags?: object; environment?: NodeJS.ProcessEnv; file?: string }) =>
  resolveSettings(DAEMON_SETTINGS, {
    flags: { ...given.flags },
    environment: given.environment ?? {},
    file: given.file ?? null,
  });
function problemOf(given: Parameters<typeof resolve>[0]): string {
  try {
    resolve(given);
  } catch (thrown) {
    if (thrown instanceof UsageError) return thrown.message;
    throw thrown;
  }
  return "no problem";
}

describe("where a value comes from", () => {
  const toml = fileOf("a.toml", 'interval = "3s"\nfilestore_overcommit_ratio = 1.5\nnode_id = "from-file"\n');

  test("the defaults hold when nobody says otherwise", () => {
    expect(resolve({})).toMatchObject({
      intervalMs: 5_000,
      filestore: null,
      filestoreOvercommitRatio: 1,
      sandboxCgroup: null,
      proc: "/proc",
      sys: "/sys",
      logLevel: "info",
      logFormat: "auto",
    });
  });

  test("a flag wins over a variable, a variable over the file", () => {
    const environment = { EVENKEEL_INTERVAL: "2s", EVENKEEL_NODE_ID: "from-variable" };
    expect(resolve({ flags: { interval: "1s" }, environment, file: toml })).toMatchObject({
      intervalMs: 1_000,
      nodeId: "from-variable",
      filestoreOvercommitRatio: 1.5,
    });
  });

  test("an empty variable counts as unset", () => {
    expect(resolve({ environment: { EVENKEEL_INTERVAL: "" }, file: toml }).intervalMs).toBe(3_000);
  });

  test("JSON holds the same keys, with any ending", () => {
    const json = '{"interval": "7s", "sandbox_cgroup": "/sandboxes"}';
    for (const name of ["a.json", "a.conf"]) {
      expect(resolve({ file: fileOf(name, json) })).toMatchObject({ intervalMs: 7_000, sandboxCgroup: "sandboxes" });
    }
  });
});

describe("a bad value is named where it stands", () => {
  test.each([
    [{ flags: { interval: "5" } }, '--interval: "5" is not a duration such as 250ms, 5s, 2m or 1h'],
    [
      { environment: { EVENKEEL_FILESTORE_OVERCOMMIT_RATIO: "0" } },
      'EVENKEEL_FILESTORE_OVERCOMMIT_RATIO: "0" is not a number of at least 1',
    ],
    [
      { flags: { logLevel: "loud" } },
      '--log-level: "loud" is not one of trace, debug, info, warn, error, fatal, silent',
    ],
    [{ flags: { socket: "" } }, '--socket: "" is not a path'],
  ])("%j", (given, problem) => expect(problemOf(given)).toBe(problem));

  test("in a file", () => {
    const file = fileOf("bad.toml", "interval = 5\n");
    expect(problemOf({ file })).toBe(`interval in ${file}: 5 is not a duration such as 250ms, 5s, 2m or 1h`);
  });

  test("an unknown key of a file", () => {
    const file = fileOf("unknown.toml", 'intervall = "5s"\n');
    expect(problemOf({ file })).toMatch(/^intervall in .*: no such setting; there are socket, /);
  });

  test.each([
    ["broken.toml", "interval = = 5", /^--config: .* is not TOML: /],
    ["broken.json", '{"interval": ', /^--config: .* is not JSON: /],
    ["list.json", "[]", /^--config: .* must hold an object of settings$/],
  ])("a file that cannot be parsed: %s", (name, text, problem) => {
    expect(problemOf({ file: fileOf(name, text) })).toMatch(problem);
    expect(problemOf({ file: join(folder, name) })).not.toContain("\n");
  });

  test("a file that is not there", () => {
    expect(problemOf({ file: join(folder, "none.toml") })).toMatch(/^--config: .*none\.toml cannot be read: /);
  });
});

describe("the default socket", () => {
  test.each([
    ["root", {}, 0, "/run/evenkeel/resource.sock"],
    ["root, whatever its session says", { XDG_RUNTIME_DIR: "/run/user/0" }, 0, "/run/evenkeel/resource.sock"],
    ["a user", { XDG_RUNTIME_DIR: "/run/user/7" }, 7, "/run/user/7/evenkeel/resource.sock"],
    ["a user without a runtime folder", {}, 7, "/tmp/evenkeel-7/resource.sock"],
  ])("of %s", (_, environment, uid, path) => expect(defaultSocketPath(environment, uid)).toBe(path));
});
