import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { createAuthority } from "../fakes/certificate.ts";
import { evenkeel } from "./evenkeel-command.ts";
import { RunningProgram } from "./running-program.ts";

const folder = mkdtempSync(join(tmpdir(), "evenkeel-access-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const fileOf = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const CLIENT = "client-token-0123456789";
const NODE = "first-node-token-0123456789";
const OPERATOR = "operator-token-0123456789";
const authority = createAuthority("process test");
const certificate = authority.issue("scheduler");
const files = {
  tokens: fileOf("tokens", `client ${CLIENT}\nnode n1 ${NODE}\noperator ${OPERATOR}\n`),
  cert: fileOf("cert.pem", certificate.cert),
  key: fileOf("key.pem", certificate.key),
  ca: fileOf("ca.pem", authority.cert),
  client: fileOf("client.token", `${CLIENT}\n`),
  node: fileOf("node.token", `${NODE}\n`),
  operator: fileOf("operator.token", OPERATOR),
};

test("an address that other machines reach is refused without tokens or --insecure: exit 2, one line", async () => {
  const { code, stdout, stderr } = await evenkeel(["scheduler", "--state-dir", "none", "--http", "0.0.0.0:7070"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toBe(
    "evenkeel: --http: other machines reach 0.0.0.0, and nobody is asked for a token; give --tokens FILE, or --insecure to let everybody in\n",
  );
});

test("a wrong file of tokens is refused at the start: exit 2, one line that quotes nothing of it", async () => {
  const wrong = fileOf("wrong", `client ${CLIENT}\nclient secret\n`);
  const { code, stderr } = await evenkeel([
    "scheduler",
    "--state-dir",
    "none",
    "--http",
    "127.0.0.1:0",
    "--tokens",
    wrong,
  ]);
  expect(code).toBe(2);
  expect(stderr).toBe(`evenkeel: --tokens: ${wrong}: line 2: has a token that is not 16 to 512 characters long\n`);
});

describe("a scheduler with tokens and TLS", () => {
  test("is reported to by a daemon, and asked by commands, that show a token and verify it", async () => {
    const access = ["--tokens", files.tokens, "--tls-cert", files.cert, "--tls-key", files.key];
    await using scheduler = new RunningProgram(["scheduler", "--state-dir", "none", "--http", "0.0.0.0:0", ...access]);
    const [, port] = await scheduler.says(/serving the HTTP API on https:\/\/0\.0\.0\.0:(\d+)/);
    const at = ["--scheduler", `https://127.0.0.1:${port}`];
    const socket = join(folder, "resource.sock");
    const trusting = [...at, "--ca", files.ca];

    await using daemon = new RunningProgram(
      [
        "daemon",
        "--no-runtime",
        "--node-id",
        "n1",
        "--endpoint",
        "http://10.0.0.7:8000",
        "--socket",
        socket,
        "--socket-mode",
        "0600",
        ...trusting,
      ],
      { EVENKEEL_TOKEN_FILE: files.node },
    );
    await daemon.says(/reporting to the scheduler/);
    expect(statSync(socket).mode & 0o777).toBe(0o600);

    const asOperator = [...trusting, "--token-file", files.operator];
    const asClient = [...trusting, "--token-file", files.client];
    const wish = ["schedule", "--cpu", "1", "--memory", "1MiB", "--json"];
    const [nodes, made, ...refused] = await Promise.all([
      evenkeel(["nodes", ...asOperator, "--json"]),
      evenkeel([...wish, ...asClient]),
      evenkeel(["nodes", ...trusting]),
      evenkeel(["nodes", ...asClient]),
      evenkeel(["nodes", ...at]),
    ]);
    const node = { node_id: "n1", endpoint: "http://10.0.0.7:8000" };
    expect(JSON.parse(nodes.stdout).nodes).toMatchObject([node]);
    const { node: picked, reservation } = JSON.parse(made.stdout);
    expect(picked).toEqual(node);
    expect((await evenkeel(["cancel", reservation.id, ...asOperator])).code).toBe(0);
    expect(refused.map(({ code }) => code)).toEqual([1, 1, 1]);
    expect(refused.map(({ stderr }) => stderr)).toEqual([
      expect.stringMatching(/^evenkeel: send a token: .*; name a file that holds one with --token-file\n$/),
      expect.stringMatching(/^evenkeel: this call is for operators, .*\n$/),
      expect.stringMatching(/^evenkeel: .*certificate.*; name the authority that it comes from with --ca\n$/),
    ]);
    for (const said of [scheduler.stderr, daemon.stderr])
      for (const token of [CLIENT, NODE, OPERATOR]) expect(said).not.toContain(token);
  }, 120_000);
});

test("a daemon whose token is another node's says so once, and takes a token that is exchanged", async () => {
  const access = ["--tokens", files.tokens];
  await using scheduler = new RunningProgram(["scheduler", "--state-dir", "none", "--http", "127.0.0.1:0", ...access]);
  const [, url = ""] = await scheduler.says(/serving the HTTP API on (http:\/\/[\d.:]+)/);
  const tokenFile = fileOf("daemon.token", CLIENT);
  const options = [
    "--interval",
    "100ms",
    "--socket",
    join(folder, "other.sock"),
    "--scheduler",
    url,
    "--token-file",
    tokenFile,
  ];
  await using daemon = new RunningProgram(["daemon", "--no-runtime", "--node-id", "n1", ...options]);
  await daemon.says(/refuses this node's heartbeats: this call is for nodes and operators/);
  writeFileSync(tokenFile, NODE);
  await daemon.says(/reporting to the scheduler/);
});

test("a token that was minted is let in by the line that came with it", async () => {
  const { stdout } = await evenkeel(["token", "client"]);
  const [, token = "", line = ""] =
    /^token {2}(ek_[\w-]{43})\nline {3}(client sha256:[0-9a-f]{64})\n$/.exec(stdout) ?? [];
  const tokens = fileOf("minted", `${line}\n`);
  await using scheduler = new RunningProgram([
    "scheduler",
    "--state-dir",
    "none",
    "--http",
    "127.0.0.1:0",
    "--tokens",
    tokens,
  ]);
  const [, url = ""] = await scheduler.says(/serving the HTTP API on (http:\/\/[\d.:]+)/);
  await vi.waitFor(async () => {
    const answer = await fetch(`${url}/v1/reservations`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(200);
  });
});

test.each([
  [["token", "admin"], 'KIND: "admin" is not one of client, node, operator'],
  [["token", "client", "n1"], "NODE: only a node's token is for one node; leave it out"],
  [["token", "node", "a b"], "NODE: "],
  [["daemon", "--socket-mode", "9999"], '--socket-mode: "9999" is not a mode in octal'],
  [["nodes", "--token-file", join(folder, "absent")], "--token-file: ENOENT"],
])("%j is refused with 2 and one line", async (args, line) => {
  const { code, stderr } = await evenkeel(args);
  expect(code).toBe(2);
  expect(stderr).toContain(`evenkeel: ${line}`);
});

test.skipIf(process.getuid?.() !== 0)("a daemon gives its socket to a group (only root may choose any)", async () => {
  const socket = join(folder, "group.sock");
  await using daemon = new RunningProgram([
    "daemon",
    "--socket",
    socket,
    "--socket-group",
    "daemon",
    "--socket-mode",
    "640",
  ]);
  await daemon.says(/serving GET \/resource/);
  const { gid, mode } = statSync(socket);
  expect({ gid, mode: mode & 0o777 }).toEqual({ gid: 1, mode: 0o640 });
});

test("a group that does not exist refuses the start", async () => {
  const { code, stderr } = await evenkeel([
    "daemon",
    "--socket",
    join(folder, "none.sock"),
    "--socket-group",
    "nobodys-group",
  ]);
  expect(code).toBe(1);
  expect(stderr).toContain(
    "evenkeel: there is no group nobodys-group; make it, or choose another with --socket-group\n",
  );
});
