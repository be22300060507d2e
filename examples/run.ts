/**
 * A whole deployment on this machine: three stub nodes, a scheduler, a gateway. It creates 50 sandboxes through the
 * gateway, kills a node midway, shows what everybody was told and what the scheduler holds, and takes all of it away.
 *
 *     node examples/run.ts
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const EVENKEEL = join(HERE, "../src/main.ts");
const SANDBOXES = 50;
const AT_ONCE = 5;
/** The node that dies, and after how many answers. */
const VICTIM = "node-2";
const KILLED_AFTER = 20;
/** Longer than the pause between two heartbeats: two rosters settle what was confirmed. */
const SETTLE_MS = 3_000;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

interface Process {
  readonly child: ChildProcess;
  /** What it said that it waits for. */
  readonly found: string;
}

const children: ChildProcess[] = [];
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/** Starts a program and waits until what it prints matches; its first group is what was found. */
function start(args: readonly string[], says: RegExp): Promise<Process> {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  return new Promise((resolve, reject) => {
    let text = "";
    const read = (chunk: string): void => {
      text += chunk;
      const match = says.exec(text);
      if (match !== null) resolve({ child, found: match[1] ?? "" });
    };
    child.stdout.setEncoding("utf8").on("data", read);
    child.stderr.setEncoding("utf8").on("data", read);
    child.once("exit", (code) => reject(new Error(`${args.join(" ")} ended with ${code}:\n${text}`)));
  });
}

async function stop({ child }: Process): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function getJson<T>(url: string): Promise<T> {
  return (await (await fetch(url)).json()) as T;
}

interface Told {
  readonly number: number;
  readonly status: number;
  readonly nodeId: string | null;
  readonly sandboxId: string | null;
}

async function create(gateway: string, number: number): Promise<Told> {
  const response = await fetch(`${gateway}/sandboxes-cold`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ cpuCount: 1 + (number % 2), memoryMB: 1_024, image: "docker.io/library/alpine:3" }),
  });
  const answer = (await response.json()) as {
    nodeId?: string;
    sandboxID?: string;
    error?: { details: { node_id?: string } };
  };
  return {
    number,
    status: response.status,
    nodeId: answer.nodeId ?? answer.error?.details.node_id ?? null,
    sandboxId: answer.sandboxID ?? null,
  };
}

/** All of them, so many at a time; `each` runs after every answer. */
async function createAll(gateway: string, each: (answered: number) => void): Promise<Told[]> {
  const told: Told[] = [];
  let next = 1;
  const worker = async (): Promise<void> => {
    while (next <= SANDBOXES) {
      told.push(await create(gateway, next++));
      each(told.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return told;
}

function countBy<T>(items: readonly T[], nameOf: (item: T) => string): string {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(nameOf(item), (counts.get(nameOf(item)) ?? 0) + 1);
  return [...counts]
    .sort(([left], [right]) => left.localeCompare(right))
    .map(([name, n]) => `${n} ${name}`)
    .join(", ");
}

interface Node {
  readonly node_id: string;
  readonly snapshot: { readonly sandbox_count: number } | null;
  readonly projected: { readonly cpu: number };
  readonly reservations: { readonly pending: number; readonly confirmed: number };
}

interface Reservation {
  readonly state: string;
  readonly uncertain: boolean;
  readonly reason: string | null;
}

async function show(scheduler: string, told: readonly Told[]): Promise<void> {
  const created = told.filter(({ status }) => status === 201);
  say(`\nWhat the ${told.length} clients were told:`);
  say(`  by status: ${countBy(told, ({ status }) => String(status))}`);
  say(`  created on: ${countBy(created, ({ nodeId }) => nodeId ?? "?")}`);

  const states = ["pending", "confirmed", "settled", "cancelled", "expired", "released"];
  const pages = states.map((state) =>
    getJson<{ reservations: Reservation[] }>(`${scheduler}/v1/reservations?state=${state}`),
  );
  const reservations = (await Promise.all(pages)).flatMap((page) => page.reservations);
  say("\nWhat became of the reservations:");
  say(
    `  ${countBy(reservations, ({ state, uncertain, reason }) => {
      return uncertain && state === "pending"
        ? "pending (uncertain)"
        : reason === null
          ? state
          : `${state} (${reason})`;
    })}`,
  );

  say("\nWhat the scheduler holds:");
  say("  NODE     REPORTED  PENDING  CONFIRMED  CPU CHARGED");
  const { nodes } = await getJson<{ nodes: Node[] }>(`${scheduler}/v1/nodes`);
  for (const { node_id, snapshot, reservations: live, projected } of nodes) {
    const reported = String(snapshot?.sandbox_count ?? 0).padStart(8);
    const pending = String(live.pending).padStart(7);
    const confirmed = String(live.confirmed).padStart(9);
    say(`  ${node_id.padEnd(8)} ${reported}  ${pending}  ${confirmed}  ${String(projected.cpu).padStart(11)}`);
  }
}

const startedMs = performance.now();
const scheduler = await start(
  [EVENKEEL, "scheduler", "--http", "127.0.0.1:0", "--state-dir", "none"],
  /serving the HTTP API on (http:\/\/[\w.:]+)/,
);
const stub = join(HERE, "stub-node.ts");
const nodes = new Map<string, Process>();
for (const nodeId of ["node-1", VICTIM, "node-3"]) {
  nodes.set(nodeId, await start([stub, nodeId, scheduler.found], /takes creates on port (\d+)/));
}
const gateway = await start(
  [EVENKEEL, "gateway", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--scheduler", scheduler.found],
  /forwarding what comes to (http:\/\/[\w.:]+)/,
);
say(`Started a scheduler, ${nodes.size} nodes and a gateway; creating ${SANDBOXES} sandboxes, ${AT_ONCE} at a time.`);

const told = await createAll(gateway.found, (answered) => {
  if (answered !== KILLED_AFTER) return;
  say(`After ${answered} answers ${VICTIM} is killed; ${AT_ONCE - 1} other creates are on their way.`);
  nodes.get(VICTIM)?.child.kill("SIGKILL");
});
await pause(SETTLE_MS);
await show(scheduler.found, told);

const [survivor] = told.filter(({ status, nodeId }) => status === 201 && nodeId !== VICTIM);
if (survivor !== undefined) {
  const url = `${gateway.found}/sandboxes/${survivor.sandboxId}`;
  const statuses = [
    (await fetch(url)).status,
    (await fetch(url, { method: "DELETE" })).status,
    (await fetch(url)).status,
  ];
  say(`\nOne sandbox through the gateway: GET ${statuses[0]}, DELETE ${statuses[1]}, GET ${statuses[2]}.`);
}
await stop(gateway);
for (const node of nodes.values()) await stop(node);
await stop(scheduler);
say(`All stopped after ${Math.round((performance.now() - startedMs) / 1_000)} s.`);
