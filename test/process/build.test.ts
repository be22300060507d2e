import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { packageVersion } from "../../src/programs/package-version.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("a build takes nothing away from programs that run from dist meanwhile", async () => {
  const build = spawn(process.execPath, ["scripts/build.ts"], { cwd: root, stdio: "ignore" });
  const ended = once(build, "exit");
  const versions = new Set<string>();
  while (build.exitCode === null) {
    versions.add(execFileSync(process.execPath, ["dist/main.js", "--version"], { cwd: root, encoding: "utf8" }).trim());
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await ended).toEqual([0, null]);
  expect([...versions]).toEqual([packageVersion()]);
}, 60_000);

test("a build leaves unchanged files where they are and takes away what is no longer built", () => {
  const leftOver = `${root}/dist/no-longer-built-${process.pid}.js`;
  writeFileSync(leftOver, "");
  const before = statSync(`${root}/dist/main.js`);
  execFileSync(process.execPath, ["scripts/build.ts"], { cwd: root });
  const after = statSync(`${root}/dist/main.js`);
  expect([after.ino, after.mtimeMs, after.mode & 0o777]).toEqual([before.ino, before.mtimeMs, 0o755]);
  expect(existsSync(leftOver)).toBe(false);
}, 60_000);
