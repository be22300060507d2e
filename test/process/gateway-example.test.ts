import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cleanEnvironment } from "./daemon-process.ts";

const SCRIPT = join(import.meta.dirname, "../../examples/run.ts");

test("the example deployment runs in under a minute and says what its README shows", { timeout: 90_000 }, () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT], {
    encoding: "utf8",
    timeout: 60_000,
    env: cleanEnvironment(),
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toContain("After 20 answers node-2 is killed");
  // Each of the 50 was created, or is one of at most five that were on their way.
  const [, created] = /by status: (\d+) 201/.exec(stdout) ?? [];
  expect(Number(created)).toBeGreaterThanOrEqual(45);
  expect(stdout).toMatch(/node-1 +\d+ +0 +0 /);
  expect(stdout).toMatch(/node-3 +\d+ +0 +0 /);
  expect(stdout).toContain("GET 200, DELETE 204, GET 404.");
});
