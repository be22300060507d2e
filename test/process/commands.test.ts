import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { run } from "../../src/programs/command-line.ts";
import { type CommandResult, evenkeel } from "./evenkeel-command.ts";
import { RunningScheduler } from "./running-scheduler.ts";

// Several programs start in one test, on machines that do other things meanwhile.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 });

let scheduler: RunningScheduler;

/** Runs a command line in this process, which is what `evenkeel` does after it was started, and takes what it says. */
async function runHere(args: readonly string[]): Promise<CommandResult> {
  const said = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((stream) =>
    vi.spyOn(process[stream], "write").mockImplementation((text) => {
      said[stream] += String(text);
      return true;
    }),
  );
  try {
    return { code: await run(args), ...said };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** Runs a command against the scheduler of this file. */
const ask = (...args: string[]): Promise<CommandResult> => runHere([...args, "--scheduler", scheduler.url]);
const said = (stdout: string) => ({ code: 0, stdout, stderr: "" });
const complained = (stderr: string, code = 1) => ({ code, stdout: "", stderr });

/** Lines of a table as cells. */
const cellsOf = (stdout: string): string[][] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/));

interface Scheduled {
  readonly node: { readonly node_id: string };
  readonly reservation: { readonly id: string; readonly token: string; readonly memory_bytes: number } | null;
}

async function schedule(...args: string[]): Promise<NonNullable<Scheduled["reservation"]>> {
  const { stdout, stderr } = await ask("schedule", ...args, "--json");
  const { reservation } = JSON.parse(stdout || "{}") as Scheduled;
  if (reservation === null || reservation === undefined) throw new Error(`nothing was reserved: ${stderr}`);
  return reservation;
}

beforeAll(async () => {
  scheduler = await RunningScheduler.start({ args: ["--placement-reservation-ttl", "1h", "--report-ttl", "1h"] });
});
afterAll(async () => scheduler[Symbol.asyncDispose]());
beforeEach(async () => scheduler.addLedgerNode("node-a", { cpu: 8, memoryGib: 32 }));

describe("schedule", () => {
  test("does the same as a process of its own", async () => {
    const { code, stdout } = await evenkeel(["schedule", "--scheduler", scheduler.url]);
    expect([code, stdout]).toEqual([
      0,
      "node         node-a\nendpoint     node-a.example:9000\nreserved     nothing\n",
    ]);
  });

  test("prints the node, the token and what to do with it, and reserves what was asked for", async () => {
    const { code, stdout, stderr } = await ask("schedule", "--cpu", "2", "--memory", "4GiB");
    expect([code, stderr]).toEqual([0, ""]);
    const token = /rt_\S+/.exec(stdout)?.[0] ?? "";
    const reservation = await scheduler.reservation(token);
    expect(stdout).toBe(`node         node-a
endpoint     node-a.example:9000
reservation  ${reservation.id}
token        ${token}
charged      2 CPUs, 4 GiB
lease        1 h

When the sandbox exists, confirm it; when it will not, cancel it:
  $ npx evenkeel confirm ${token} SANDBOX_ID
  $ npx evenkeel cancel ${token}
`);
    expect(reservation).toMatchObject({ state: "pending", cpu: 2, memory_bytes: 4 * 2 ** 30 });
    await ask("cancel", token);
  });

  test("--json prints the API's answer; the same --request-id the same reservation", async () => {
    const first = await schedule("--cpu", "1", "--memory", "1GiB", "--request-id", "attempt-1");
    const again = await schedule("--cpu", "1", "--memory", "1GiB", "--request-id", "attempt-1");
    expect(first.token).toMatch(/^rt_/);
    expect(again).toEqual(first);
    expect(first.memory_bytes).toBe(2 ** 30);
    await ask("cancel", first.token);
  });

  test("--template reserves without a size; nothing asked for reserves nothing", async () => {
    const { id } = await schedule("--template");
    expect(await scheduler.reservation(id)).toMatchObject({ state: "pending", cpu: 0 });
    await ask("cancel", id);
    expect(await ask("schedule")).toEqual(
      said("node         node-a\nendpoint     node-a.example:9000\nreserved     nothing\n"),
    );
  });

  test("--exclude leaves nodes out, and the API's reason is the message", async () => {
    const excluded = await ask("schedule", "--cpu", "1", "--exclude", "node-b", "--exclude", "node-a");
    expect(excluded).toEqual(complained("evenkeel: no nodes available: 1 excluded\n"));
    const large = await ask("schedule", "--cpu", "9", "--json");
    expect(large).toEqual(complained("evenkeel: no nodes available: 1 insufficient cpu\n"));
  });

  test("--unmanaged finds no ledger node", async () => {
    expect(await ask("schedule", "--cpu", "1", "--unmanaged")).toEqual(
      complained("evenkeel: no nodes available: 1 ledger\n"),
    );
  });

  test.each([
    [["--cpu", "1.5"], '--cpu: "1.5" is not a whole number from 1 to 4294967295'],
    [["--memory", "4"], '--memory: "4" is not a size such as 512MiB, 4GiB or 1.5TiB'],
    [["--unmanaged"], "--unmanaged: nothing is reserved here; add --cpu, --memory or --template"],
  ])("refuses %j as a wrong call", async (args, complaint) => {
    expect(await ask("schedule", ...args)).toEqual(complained(`evenkeel: ${complaint}\n`, 2));
  });
});

describe("reservations, and what moves them", () => {
  test("a reservation's way from the list to its release", async () => {
    const { id, token } = await schedule("--cpu", "2", "--memory", "4GiB");
    const listed = await ask("reservations", "--node", "node-a");
    const [header, row = []] = cellsOf(listed.stdout);
    expect(header).toEqual(["ID", "STATE", "NODE", "SANDBOX", "CPU", "MEMORY", "AGE", "LEASE", "NOTE"]);
    expect(row.slice(0, 6)).toEqual([id, "pending", "node-a", "-", "2", "4 GiB"]);
    expect(row[7]).toMatch(/^(1 h|59 min \d+ s)$/);

    expect((await ask("renew", token)).stdout).toMatch(
      new RegExp(`^${id} on node-a is pending; its lease ends in (1 h|59 min \\d+ s)\n$`),
    );
    expect(await ask("confirm", token, "box-1")).toEqual(said(`${id} on node-a is confirmed for sandbox box-1\n`));
    const again = JSON.parse((await ask("confirm", token, "box-1", "--json")).stdout);
    expect(again.reservation).toMatchObject({ id, state: "confirmed", sandbox_id: "box-1", expires_at: null });
    expect((await ask("confirm", token, "box-2")).code).toBe(1);
    expect((await ask("cancel", token)).stderr).toMatch(/^evenkeel: .*confirmed/);

    // The API says the same of one that it never knew.
    for (const box of ["box-1", "box-1", "never-seen"]) {
      expect(await ask("release", box)).toEqual(said(`nothing is reserved for ${box} any more, if anything was\n`));
    }
    expect(await ask("reservations")).toEqual(said("No live reservations.\n"));
    const released = await ask("reservations", "--state", "released");
    expect(cellsOf(released.stdout)[1]).toEqual(expect.arrayContaining([id, "released", "box-1", "deleted"]));
  });

  test("cancel by the public id, with a reason", async () => {
    const { id } = await schedule("--cpu", "2");
    expect(await ask("cancel", id, "--reason", "operator")).toEqual(said(`${id} on node-a is cancelled (operator)\n`));
    const { stdout } = await ask("reservations", "--state", "cancelled", "--json");
    const { reservations } = JSON.parse(stdout) as { reservations: { id: string; reason: string }[] };
    expect(reservations.find((each) => each.id === id)).toMatchObject({ reason: "operator", state: "cancelled" });
  });

  test("an unknown token: exit code 1 and the API's message", async () => {
    const { code, stderr } = await ask("cancel", "rt_nobody");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^evenkeel: .*\n$/);
    expect(stderr).not.toContain("rt_nobody");
  });

  test("an unknown state is a wrong call", async () => {
    const { code, stderr } = await ask("reservations", "--state", "lost");
    expect(code).toBe(2);
    expect(stderr).toBe(
      'evenkeel: --state: "lost" is not one of pending, confirmed, settled, cancelled, expired, released\n',
    );
  });
});

describe("nodes, and what operators do to them", () => {
  test("nodes prints promises, capacity and reservations", async () => {
    const { token } = await schedule("--cpu", "2", "--memory", "8GiB");
    const { stdout } = await ask("nodes");
    const [header, row = []] = cellsOf(stdout);
    expect(header).toEqual([
      ...["NODE", "STATUS", "CPU", "MEMORY", "PRESSURE", "PENDING", "CONFIRMED", "BUSIEST", "SEEN", "NOTE"],
    ]);
    expect(row.slice(0, 8)).toEqual(["node-a", "READY", "2 of 8", "8 GiB of 32 GiB", "25.0 %", "1", "0", "-"]);
    expect(row[8]).toMatch(/^\d+ s ago$/);
    const { nodes } = JSON.parse((await ask("nodes", "--json")).stdout) as { nodes: { node_id: string }[] };
    expect(nodes.map(({ node_id }) => node_id)).toEqual(["node-a"]);
    await ask("cancel", token);
  });

  test("cordon takes a node out with its reason, uncordon brings it back", async () => {
    expect(await ask("cordon", "node-a", "--reason", "disk swap")).toEqual(said("node-a is cordoned: disk swap\n"));
    expect((await ask("schedule", "--cpu", "1")).stderr).toBe("evenkeel: no nodes available: 1 cordoned\n");
    expect((await ask("nodes")).stdout).toContain("cordoned: disk swap");
    const { stdout } = await ask("uncordon", "node-a", "--json");
    expect(JSON.parse(stdout).node).toMatchObject({ node_id: "node-a", cordoned: false, schedulable: true });
    expect(await ask("uncordon", "node-a")).toEqual(said("node-a is not cordoned\n"));
    expect((await ask("cordon", "node-x")).code).toBe(1);
  });

  test("unregister finds the instance by itself, and refuses another one", async () => {
    await scheduler.addLedgerNode("node-b", { cpu: 8, memoryGib: 32 });
    const wrong = await ask("unregister", "node-b", "--instance", "somebody-else");
    expect([wrong.code, wrong.stderr]).toEqual([1, "evenkeel: service instance mismatch\n"]);
    expect(await ask("unregister", "node-b")).toEqual(said("node-b is unregistered\n"));
    expect((await ask("nodes")).stdout).not.toContain("READY  node-b");
    expect((await ask("unregister", "node-x")).code).toBe(1);
  });
});

describe("without a scheduler", () => {
  test("exit code 1, and one line that says how to start one", async () => {
    const { port } = await goneScheduler();
    const { code, stdout, stderr } = await evenkeel(["nodes"], {
      env: { EVENKEEL_SCHEDULER: `http://127.0.0.1:${port}` },
    });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      `evenkeel: the scheduler at http://127.0.0.1:${port} cannot be reached: connect ECONNREFUSED 127.0.0.1:${port}; start one with "npx evenkeel up", or name another with --scheduler URL\n`,
    );
  });

  test("another server there is not taken for one", async () => {
    const other = createServer((_request, response) => void response.end("<html></html>"));
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const { code, stderr } = await runHere(["nodes", "--scheduler", url]);
    expect([code, stderr]).toEqual([1, `evenkeel: what answers at ${url} is not a scheduler (HTTP status 200)\n`]);
    other.closeAllConnections();
    other.close();
  });

  test.each(["localhost:7070", "ftp://scheduler.example", "http://scheduler.example?x=1"])(
    "%s is no URL of one",
    async (url) => {
      const { code, stderr } = await runHere(["nodes", "--scheduler", url]);
      expect([code, stderr]).toEqual([
        2,
        `evenkeel: --scheduler: "${url}" is not a URL such as http://scheduler.example:7070\n`,
      ]);
    },
  );

  test("an empty fleet says how a node comes into it", async () => {
    await using empty = await RunningScheduler.start();
    const { code, stdout } = await runHere(["nodes", "--scheduler", empty.url]);
    expect([code, stdout]).toEqual([
      0,
      `No nodes yet. A node appears when its daemon reports:\n  $ npx evenkeel daemon --no-runtime --scheduler ${empty.url}\n`,
    ]);
  });
});

/** A port that nobody listens on any more. */
async function goneScheduler(): Promise<{ port: number }> {
  const gone = await RunningScheduler.start();
  const { port } = gone;
  await gone.stop();
  await gone[Symbol.asyncDispose]();
  return { port };
}
