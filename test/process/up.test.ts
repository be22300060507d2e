import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { PlacementClient, type Reservation } from "../../src/client/index.ts";
import { run } from "../../src/programs/command-line.ts";
import { variableOf } from "../../src/programs/options.ts";
import { SCHEDULER_SETTINGS } from "../../src/programs/scheduler-settings.ts";
import { UP_FLAGS } from "../../src/programs/up-settings.ts";
import { GrpcClient } from "../unit/grpc/client.ts";
import { evenkeel } from "./evenkeel-command.ts";
import { LivingTree } from "./living-tree.ts";
import { RunningProgram } from "./running-program.ts";
import { socketRequest } from "./socket-client.ts";

// Several programs start in one test, on machines that do other things meanwhile.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 });

const FREE_PORT = "127.0.0.1:0";

let folder: string;
let socket: string;
let tree: LivingTree;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "evenkeel-up-"));
  socket = join(folder, "resource.sock");
  tree = new LivingTree("no-limits");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const upArguments = (http: string, socketPath = socket): string[] => [
  ...["up", "--http", http, "--socket", socketPath, "--interval", "100ms", "--node-id", "here"],
  ...["--proc", join(tree.path, "proc"), "--sys", join(tree.path, "sys"), "--log-format", "json"],
];

describe("evenkeel up", () => {
  test("runs a scheduler that knows this machine, says what to try, and Ctrl-C ends both", async () => {
    await using up = new RunningProgram(upArguments(FREE_PORT));
    await up.says(/Ctrl-C stops both\.\n/);
    const [, url = ""] = /a scheduler on (http:\/\/[\d.:]+), and this machine as its node here\./.exec(up.stdout) ?? [];
    expect(up.stdout).toContain(`  $ npx evenkeel nodes --scheduler ${url}\n`);
    expect(up.stdout).toContain(`  $ npx evenkeel resource --socket ${socket}\n`);
    await up.says(/reporting to the scheduler/);

    const tried = async (...args: string[]) => evenkeel([...args, "--scheduler", url]);
    expect((await tried("nodes")).stdout).toMatch(/^here +READY/m);
    const scheduled = await tried("schedule", "--cpu", "1", "--memory", "1MiB");
    const token = /rt_\S+/.exec(scheduled.stdout)?.[0] ?? "";
    expect(scheduled.stdout).toMatch(/^node +here$/m);
    expect((await tried("confirm", token, "my-sandbox")).stdout).toContain("is confirmed for sandbox my-sandbox");
    expect((await tried("reservations")).stdout).toMatch(/confirmed +here +my-sandbox/);
    expect((await tried("release", "my-sandbox")).code).toBe(0);
    const resource = await socketRequest({ socketPath: socket, path: "/resource", method: "GET" });
    expect(resource.status).toBe(200);

    const { code, tookMs } = await up.stop("SIGINT");
    expect(code).toBe(0);
    expect(tookMs).toBeLessThan(5_000);
    expect(readdirSync(folder)).toEqual([]);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

  test("says in one line that the port is taken, and leaves nothing behind", async () => {
    const holder = createServer();
    holder.listen(0, "127.0.0.1");
    await once(holder, "listening");
    const address = holder.address();
    const at = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const { code, stdout, stderr } = await evenkeel(upArguments(at));
    holder.close();
    expect([code, stdout]).toEqual([1, ""]);
    const complaints = stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
    expect(complaints).toEqual([expect.stringMatching(new RegExp(`^evenkeel: ${at} is taken by .*--http$`))]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("says in one line that the socket is taken, and leaves the other one alone", async () => {
    await using first = new RunningProgram(upArguments(FREE_PORT));
    await first.says(/Ctrl-C stops both/);
    const { code, stdout, stderr } = await evenkeel(upArguments(FREE_PORT));
    expect([code, stdout]).toEqual([1, ""]);
    const complaints = stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
    expect(complaints).toEqual([
      `evenkeel: ${socket}: a daemon is already serving there; stop it, or choose another path with --socket`,
    ]);
    expect(existsSync(socket)).toBe(true);
    expect((await socketRequest({ socketPath: socket, path: "/resource", method: "GET" })).status).toBe(200);
  });

  test("reports to its own scheduler only, whatever the variable of the daemon says", async () => {
    await using up = new RunningProgram(upArguments(FREE_PORT), { EVENKEEL_SCHEDULER: "http://127.0.0.1:9" });
    const [, url] = await up.says(/a scheduler on (http:\/\/[\d.:]+),/);
    await up.says(new RegExp(`reporting to the scheduler at ${url}"`));
  });
});

describe("every other setting is taken from its variable", () => {
  const flags = Object.values(UP_FLAGS).map(({ key }) => key);
  const others = Object.values(SCHEDULER_SETTINGS).filter(({ key }) => !flags.includes(key));

  test("of which there are some", () => expect(others.map(({ key }) => key)).toContain("grpc"));

  test.each(others.map(variableOf))("%s", async (variable) => {
    const errors = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    vi.stubEnv(variable, "(nonsense)");
    try {
      expect(await run(["up"])).toBe(2);
      expect(errors.mock.calls.map(([text]) => text)).toEqual([expect.stringContaining(`evenkeel: ${variable}: `)]);
    } finally {
      errors.mockRestore();
      vi.unstubAllEnvs();
    }
  });

  test("and holds: gRPC is served, and its calls and those of HTTP meet the limits that were set", async () => {
    await using up = new RunningProgram(upArguments(FREE_PORT), {
      EVENKEEL_GRPC: FREE_PORT,
      EVENKEEL_MAX_RESERVATION_AGE: "50s",
      EVENKEEL_UNCERTAIN_TTL: "50s",
      EVENKEEL_LIVE_RESERVATIONS_PER_NODE_MAX: "2",
      EVENKEEL_REMEMBERED_RESERVATIONS_MAX: "1",
    });
    const [, address = ""] = await up.says(/serving the gRPC API on ([\d.:]+)/);
    const [, url = ""] = await up.says(/a scheduler on (http:\/\/[\d.:]+),/);
    await up.says(/reporting to the scheduler/);
    const client = new PlacementClient({ url });
    const take = async (): Promise<Reservation> => {
      const { reservation } = await client.schedule({ hint: { new_cold_sandbox: { cpu_count: 1 } } });
      if (reservation === null) throw new Error("nothing was reserved");
      return reservation;
    };
    const first = await take();
    expect(leaseMs(first)).toBe(50_000);
    const second = await take();
    await expect(take()).rejects.toMatchObject({ details: { reasons: { "too many reservations": 1 } } });

    using grpc = new GrpcClient(address);
    const renewed = await grpc.ask("renew", { token: second.token ?? "" });
    expect(renewed.reservation).toMatchObject({ id: second.id });

    for (const { token } of [first, second]) await client.cancel(token ?? "");
    const remembered = await fetch(`${url}/v1/reservations?state=cancelled`);
    const { reservations } = (await remembered.json()) as { reservations: Reservation[] };
    expect(reservations.map(({ id }) => id)).toEqual([second.id]);
    const { code, tookMs } = await up.stop("SIGINT");
    expect([code, tookMs < 5_000]).toEqual([0, true]);
  });

  test("a gRPC address that is taken is refused by its variable", async () => {
    const holder = createServer();
    holder.listen(0, "127.0.0.1");
    await once(holder, "listening");
    const address = holder.address();
    const at = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const { code, stdout, stderr } = await evenkeel(upArguments(FREE_PORT), { env: { EVENKEEL_GRPC: at } });
    holder.close();
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(new RegExp(`^evenkeel: ${at} is taken by .*; end it, .* with EVENKEEL_GRPC$`, "m"));
    expect(readdirSync(folder)).toEqual([]);
  });
});

function leaseMs({ created_at, expires_at }: Reservation): number {
  return expires_at === null ? 0 : Date.parse(expires_at) - Date.parse(created_at);
}
