import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAuthority } from "../fakes/certificate.ts";
import { evenkeel } from "./evenkeel-command.ts";
import { RunningProgram } from "./running-program.ts";

const folder = mkdtempSync(join(tmpdir(), "evenkeel-load-access-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const fileOf = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const OPERATOR = "operator-token-0123456789";
const CLIENT = "client-token-0123456789";
const tokenOf = (node: number): string => `load-node-${node}-token-0123456789`;
const linesOf = (nodes: readonly number[]): string =>
  nodes.map((node) => `node load-${node} ${tokenOf(node)}\n`).join("");

const authority = createAuthority("process test");
const certificate = authority.issue("scheduler");
const tokens = fileOf("tokens", `client ${CLIENT}\noperator ${OPERATOR}\n${linesOf([1, 2, 3])}`);
const files = {
  cert: fileOf("cert.pem", certificate.cert),
  key: fileOf("key.pem", certificate.key),
  ca: fileOf("ca.pem", authority.cert),
  operator: fileOf("operator.token", `${OPERATOR}\n`),
  client: fileOf("client.token", `${CLIENT}\n`),
  nodes: fileOf("nodes", `# nodes of load runs\n\noperator ${OPERATOR}\n${linesOf([1, 2, 3])}`),
  strangers: fileOf("strangers", linesOf([4])),
};
const SMALL = ["--requests", "60", "--wait", "0ms", "--json"];

describe("against a scheduler with tokens and TLS", () => {
  let scheduler: RunningProgram;
  let at: readonly string[];
  beforeAll(async () => {
    const access = ["--tokens", tokens, "--tls-cert", files.cert, "--tls-key", files.key];
    scheduler = new RunningProgram(["scheduler", "--state-dir", "none", "--http", "127.0.0.1:0", ...access]);
    const [, port] = await scheduler.says(/serving the HTTP API on https:\/\/127\.0\.0\.1:(\d+)/);
    at = ["--scheduler", `https://127.0.0.1:${port}`];
  });
  afterAll(() => scheduler[Symbol.asyncDispose]());

  const trusting = (): string[] => [...at, "--ca", files.ca];
  const asOperator = (): string[] => [...trusting(), "--token-file", files.operator];

  test("an operator's token and one of each node make a run that passes, twice, and leaves nothing", async () => {
    // The second plays nodes of the same names: what the first has left must not keep them out.
    for (const nodes of [[], ["--nodes", "2"]]) {
      const run = ["load", ...asOperator(), "--node-tokens", files.nodes, ...nodes, ...SMALL];
      const { code, stdout, stderr } = await evenkeel(run);
      expect(stderr).not.toContain("evenkeel:");
      expect(code).toBe(0);
      const report = JSON.parse(stdout) as { passed: boolean; granted_by_node: object };
      expect(report.passed).toBe(true);
      expect(Object.keys(report.granted_by_node)).toHaveLength(nodes.length === 0 ? 3 : 2);
      for (const name of Object.keys(report.granted_by_node)) expect(name).toMatch(/^load-[123]$/);
      for (const said of [stdout, stderr, scheduler.stderr]) expect(said).not.toMatch(/token-0123456789/);
      const left = await evenkeel(["nodes", ...asOperator(), "--json"]);
      expect(JSON.parse(left.stdout)).toEqual({ nodes: [] });
    }
  }, 60_000);

  test("a client's token, none, one authority unknown, or no token of a node: each says what to give", async () => {
    const [client, none, unverified, nameless, strangers] = await Promise.all([
      evenkeel(["load", ...trusting(), "--token-file", files.client, "--node-tokens", files.nodes]),
      evenkeel(["load", ...trusting()]),
      evenkeel(["load", ...at]),
      evenkeel(["load", ...asOperator(), "--nodes", "1"]),
      evenkeel(["load", ...asOperator(), "--node-tokens", files.strangers]),
    ]);
    const ends = [client, none, unverified, nameless, strangers];
    expect(ends.map(({ code, stdout }) => [code, stdout])).toEqual(Array(5).fill([1, ""]));
    expect(ends.map(({ stderr }) => stderr.split("\n").slice(-2)[0])).toEqual([
      "evenkeel: this call is for operators, and the token is a client's; name a file that holds an operator's with --token-file",
      "evenkeel: send a token: Authorization: Bearer TOKEN; name a file that holds an operator's with --token-file",
      expect.stringMatching(
        /^evenkeel: GET \/readyz: .*certificate.*; name the authority that it comes from with --ca$/,
      ),
      expect.stringMatching(
        /^evenkeel: heartbeat of load-\w+-node-1: only .* sets its endpoint; give each node a token that names it with --node-tokens FILE$/,
      ),
      "evenkeel: heartbeat of load-4: the token is not one in force; every line of a node in --node-tokens has to stand in the scheduler's --tokens file too",
    ]);
  }, 60_000);
});

test("a node that the scheduler has already is not played: it may be a real one", async () => {
  const access = ["--tokens", tokens, "--state-dir", "none", "--http", "127.0.0.1:0"];
  await using scheduler = new RunningProgram(["scheduler", ...access]);
  const [, url = ""] = await scheduler.says(/serving the HTTP API on (http:\/\/[\d.:]+)/);
  const real = await fetch(`${url}/v1/nodes/load-2/heartbeat`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${tokenOf(2)}` },
    body: JSON.stringify({ service_instance_id: "real", endpoint: "real.example:443", snapshot: { cpu_count: 4 } }),
  });
  expect(real.status).toBe(200);
  const options = ["--scheduler", url, "--token-file", files.operator, "--node-tokens", files.nodes];
  const { code, stderr } = await evenkeel(["load", ...options]);
  expect(code).toBe(1);
  expect(stderr).toContain(
    "evenkeel: the scheduler has a node load-2 already, and --node-tokens is for nodes of this run",
  );
  const { stdout } = await evenkeel(["nodes", "--scheduler", url, "--token-file", files.operator, "--json"]);
  expect(JSON.parse(stdout).nodes).toMatchObject([{ node_id: "load-2", endpoint: "real.example:443" }]);
});

test.each([
  [["--node-tokens", join(folder, "absent")], "--node-tokens: ENOENT"],
  [["--node-tokens", files.client], `--node-tokens: ${files.client}: it has no line "node NAME TOKEN"\n`],
  [["--node-tokens", files.nodes, "--nodes", "4"], `--nodes: ${files.nodes} names 3 nodes, which is fewer than 4\n`],
])("%j is refused with 2 and one line", async (options, line) => {
  const { code, stderr } = await evenkeel(["load", ...options]);
  expect(code).toBe(2);
  expect(stderr).toContain(`evenkeel: ${line}`);
});
