import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const FLEET = fileURLToPath(new URL("../../fixtures/fleets/seed-3-nodes.json", import.meta.url));

function simulate(...options: string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, "simulate", ...options], { encoding: "utf8" });
  return { code: status, stdout, stderr };
}

test("prints the table and nothing else, the same bytes for the same seed", () => {
  const first = simulate(
    "--fleet",
    FLEET,
    "--requests",
    "300",
    "--cpu",
    "2",
    "--memory",
    "4GiB",
    "--admission",
    "none",
  );
  expect(first).toEqual({
    code: 0,
    stderr: "",
    stdout: [
      "STRATEGY      PLACED  REJECTED  PEAK PRESSURE  ON          IMBALANCE  OF PRESSURE",
      "least_loaded     300         0         2.2188  medium cpu     0.8221       0.0192",
      "round_robin      300         0        12.5000  small cpu      0.0000       0.8970",
      "random           300         0        10.7500  small cpu      0.0990       0.8124",
      "",
    ].join("\n"),
  });
  expect(simulate("--fleet", FLEET, "--admission", "none", "--seed", "1").stdout).toBe(first.stdout);
});

test("prints JSON for scripts", () => {
  const { code, stdout } = simulate("--fleet", FLEET, "--strategy", " Least_Loaded ", "--json");
  expect(code).toBe(0);
  const { strategies, ...terms } = JSON.parse(stdout);
  expect(terms).toEqual({
    seed: 1,
    nodes: 3,
    requests: 300,
    cpu: 2,
    memory_bytes: 4 * 2 ** 30,
    admission: "capacity",
    heartbeat_interval_ms: null,
    lifetime_ms: null,
    rate_per_second: 10,
  });
  expect(strategies).toMatchObject([
    {
      strategy: "least_loaded",
      placed: 136,
      rejected: 164,
      peak_pressure: 1,
      reasons: { "insufficient cpu in flight": 492 },
    },
  ]);
});

test.each([
  [[], "evenkeel: --fleet: is missing; name a fleet file, see --help\n"],
  [
    ["--fleet", FLEET, "--strategy", "best"],
    'evenkeel: --strategy: "best" is not one of all, least_loaded, round_robin, random\n',
  ],
  [["--fleet", FLEET, "--requests", "0"], 'evenkeel: --requests: "0" is not a whole number from 1 to 1000000\n'],
  [["--fleet", FLEET, "--memory", "4"], 'evenkeel: --memory: "4" is not a size such as 512MiB, 4GiB or 1.5TiB\n'],
])("called wrongly (%j) it says so in one line and exits with 2", (options, stderr) => {
  expect(simulate(...options)).toEqual({ code: 2, stdout: "", stderr });
});
