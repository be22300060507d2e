/**
 * A node without sandboxes: it takes creates, lists, answers and deletes what it took, and sends its roster to the
 * scheduler once a second. What a real runtime does besides is start something.
 *
 *     node examples/stub-node.ts NODE_ID SCHEDULER_URL [CPU_COUNT]
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

const [, , nodeId = "node", scheduler = "http://127.0.0.1:7070", cpuCount = "64"] = process.argv;
const MEMORY_BYTES = 64 * 2 ** 30;
const MIB = 2 ** 20;
const REPORT_EVERY_MS = 1_000;
/** About as long as a small virtual machine takes to start. */
const START_MS = 150;

interface Sandbox {
  readonly sandboxID: string;
  readonly nodeId: string;
  readonly cpuCount: number;
  readonly memoryMB: number;
}

const sandboxes = new Map<string, Sandbox>();
let created = 0;

async function readJson(request: IncomingMessage): Promise<Partial<Sandbox>> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text === "" ? {} : (JSON.parse(text) as Partial<Sandbox>);
}

/** As the scheduler's HTTP API takes it: sums first, then the roster that they belong to. */
async function report(): Promise<void> {
  const running = [...sandboxes.values()];
  const sum = (of: (sandbox: Sandbox) => number): number => running.reduce((total, each) => total + of(each), 0);
  const { port } = server.address() as AddressInfo;
  await fetch(`${scheduler}/v1/nodes/${nodeId}/heartbeat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      endpoint: `127.0.0.1:${port}`,
      service_instance_id: instance,
      snapshot: {
        cpu_count: Number(cpuCount),
        memory_total_bytes: MEMORY_BYTES,
        sandbox_count: running.length,
        allocated_cpu: sum((each) => each.cpuCount),
        allocated_memory_bytes: sum((each) => each.memoryMB) * MIB,
        create_successes: created,
      },
      sandbox_ids: running.map((each) => each.sandboxID),
    }),
  }).catch(() => undefined); // The next one tells the same.
}

const instance = randomUUID();
const server = createServer(async (request, response) => {
  const answer = (status: number, body: unknown): void => {
    response.writeHead(status, { "content-type": "application/json" }).end(body === null ? "" : JSON.stringify(body));
  };
  const [, sandboxId] = /^\/sandboxes\/([^/?]+)/.exec(request.url ?? "") ?? [];
  if (request.method === "POST" && sandboxId === undefined) {
    const { cpuCount: cpu = 1, memoryMB = 1_024 } = await readJson(request);
    await new Promise((resolve) => setTimeout(resolve, START_MS));
    const sandbox = { sandboxID: randomUUID(), nodeId, cpuCount: cpu, memoryMB };
    sandboxes.set(sandbox.sandboxID, sandbox);
    created += 1;
    return answer(201, sandbox);
  }
  if (sandboxId === undefined) return answer(200, [...sandboxes.values()]);
  const sandbox = sandboxes.get(sandboxId);
  if (sandbox === undefined) return answer(404, { message: "no such sandbox" });
  if (request.method !== "DELETE") return answer(200, sandbox);
  sandboxes.delete(sandboxId);
  return answer(204, null);
});

server.listen(0, "127.0.0.1", async () => {
  await report();
  setInterval(report, REPORT_EVERY_MS);
  process.stdout.write(`${nodeId} takes creates on port ${(server.address() as AddressInfo).port}\n`);
});
