import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { cleanEnvironment } from "./daemon-process.ts";
import { SchedulerProcess } from "./scheduler-process.ts";

const CLIENT = join(import.meta.dirname, "scheduling-client.ts");
const CLIENTS = 4;
const REQUESTS = 2_000;
const NODES = 10;
/** Sandboxes of 2 cores and 4 GiB that one node of 300 cores and 600 GiB holds: 10 nodes hold exactly 1 500. */
const PER_NODE = 150;
const GIB = 2 ** 30;

interface Reservation {
  readonly id: string;
  readonly token: string;
  readonly node_id: string;
}
interface Answer {
  readonly status: number;
  readonly body: {
    readonly reservation?: Reservation;
    readonly error?: { readonly code: string; readonly details: { readonly reasons: object; readonly nodes: number } };
  };
}
interface NodeView {
  readonly node_id: string;
  readonly projected: { readonly cpu: number; readonly memory_bytes: number; readonly pressure: number };
  readonly available: { readonly cpu: number; readonly memory_bytes: number };
  readonly in_flight: { readonly cpu: number; readonly memory_bytes: number; readonly count: number };
  readonly over_limit: boolean;
}

async function startClient(url: string, count: number): Promise<{ go(): Promise<Answer[]> }> {
  const child = spawn(process.execPath, [CLIENT, url, String(count)], {
    stdio: ["pipe", "pipe", "inherit"],
    env: cleanEnvironment(),
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe("ready");
  return {
    async go() {
      child.stdin.end("x");
      return JSON.parse((await lines.next()).value as string) as Answer[];
    },
  };
}

function nodeHeartbeat(nodeId: string, sandboxIds: readonly string[]): object {
  return {
    endpoint: `http://${nodeId}`,
    service_instance_id: `${nodeId}-1`,
    snapshot: {
      cpu_count: 2 * PER_NODE,
      memory_total_bytes: 4 * PER_NODE * GIB,
      allocated_cpu: 2 * sandboxIds.length,
      allocated_memory_bytes: 4 * GIB * sandboxIds.length,
      sandbox_count: sandboxIds.length,
    },
    sandbox_ids: sandboxIds,
  };
}

test("2 000 schedules at once on nodes that fit 1 500: exactly 1 500 succeed, and nothing stays in flight", async () => {
  await using scheduler = await SchedulerProcess.start();
  const nodeIds = Array.from({ length: NODES }, (_, index) => `n${index}`);
  for (const nodeId of nodeIds)
    await scheduler.call("POST", `/v1/nodes/${nodeId}/heartbeat`, nodeHeartbeat(nodeId, []));

  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, () => startClient(scheduler.url, REQUESTS / CLIENTS)),
  );
  const answers = (await Promise.all(clients.map((client) => client.go()))).flat();
  expect(answers).toHaveLength(REQUESTS);
  const reserved = answers.flatMap(({ status, body }) =>
    status === 200 && body.reservation ? [body.reservation] : [],
  );
  expect(reserved).toHaveLength(NODES * PER_NODE);
  expect(new Set(reserved.map(({ token }) => token)).size).toBe(NODES * PER_NODE);
  for (const nodeId of nodeIds) expect(reserved.filter((each) => each.node_id === nodeId)).toHaveLength(PER_NODE);
  const refused = answers.filter(({ status }) => status !== 200);
  for (const { status, body } of refused) {
    expect(status).toBe(503);
    expect(body.error).toMatchObject({
      code: "no_nodes",
      details: { reasons: { "insufficient cpu in flight": NODES }, nodes: NODES },
    });
  }

  const nodes = async (): Promise<readonly NodeView[]> =>
    (await scheduler.call<{ nodes: NodeView[] }>("GET", "/v1/nodes")).body.nodes;
  const full = { cpu: 2 * PER_NODE, memory_bytes: 4 * PER_NODE * GIB };
  for (const node of await nodes()) {
    expect(node).toMatchObject({
      projected: { ...full, pressure: 1 },
      available: { cpu: 0, memory_bytes: 0 },
      over_limit: false,
    });
    expect(node.in_flight).toEqual({ ...full, count: PER_NODE });
  }

  const confirms = await Promise.all(
    reserved.map(({ id, token }) =>
      scheduler.call("POST", `/v1/reservations/${token}/confirm`, { sandbox_id: `s-${id}` }),
    ),
  );
  expect(confirms.every(({ status }) => status === 200)).toBe(true);

  for (const nodeId of nodeIds) {
    const roster = reserved.filter((each) => each.node_id === nodeId).map(({ id }) => `s-${id}`);
    await scheduler.call("POST", `/v1/nodes/${nodeId}/heartbeat`, nodeHeartbeat(nodeId, roster));
  }
  for (const node of await nodes()) {
    expect(node).toMatchObject({ projected: full, over_limit: false });
    expect(node.in_flight).toEqual({ cpu: 0, memory_bytes: 0, count: 0 });
  }
  const { body } = await scheduler.call<{ reservations: unknown[] }>(
    "GET",
    "/v1/reservations?limit=10000&state=settled",
  );
  expect(body.reservations).toHaveLength(NODES * PER_NODE);
});
