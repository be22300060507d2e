import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { packageVersion } from "../../src/programs/package-version.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("npx runs the checkout as it is built, and neither installs nor builds it again", () => {
  const cache = mkdtempSync(join(tmpdir(), "ek-npx-"));
  const env = { ...process.env, npm_config_cache: cache, npm_config_offline: "true" };
  const said = execFileSync("npx", ["--no", "--", "evenkeel", "--version"], { cwd: root, env, encoding: "utf8" });
  expect(said.trim()).toBe(packageVersion());
  expect(existsSync(join(cache, "_npx"))).toBe(false);
});
