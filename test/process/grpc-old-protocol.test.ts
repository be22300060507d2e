/**
 * A gateway and a node that know the old protocol only: Schedule, RecordAssignment, heartbeats with a roster, events.
 * Nobody confirms; sandboxes of different sizes are created in the opposite order of their scheduling.
 */
import { expect, test } from "vitest";
import type { HeartbeatFields } from "../unit/grpc/client.ts";
import { coldSandbox } from "../unit/grpc/client.ts";
import { GrpcProcess, staticNodes } from "./grpc-process.ts";

const GIB = 2 ** 30;
const CREATE = 1;
const DELETE = 2;

interface Sandbox {
  readonly id: string;
  readonly cpu: number;
  readonly memoryGib: number;
}

const SANDBOXES: readonly Sandbox[] = [
  { id: "small", cpu: 1, memoryGib: 1 },
  { id: "middle", cpu: 2, memoryGib: 6 },
  { id: "large", cpu: 4, memoryGib: 16 },
];
const ALL = { cpu: 7, memory_bytes: 23 * GIB };

/** The one node, as it really is, and how it speaks. */
class OldNode {
  readonly #running: GrpcProcess;
  #here: readonly Sandbox[] = [];
  #createSuccesses = 0n;

  constructor(running: GrpcProcess) {
    this.#running = running;
  }

  create(sandbox: Sandbox): void {
    this.#here = [...this.#here, sandbox];
    this.#createSuccesses += 1n;
  }

  delete(sandbox: Sandbox): void {
    this.#here = this.#here.filter(({ id }) => id !== sandbox.id);
  }

  async report(): Promise<void> {
    const fields: HeartbeatFields = {
      sandboxIds: this.#here.map(({ id }) => id),
      snapshot: {
        allocatedCpu: this.#here.reduce((sum, { cpu }) => sum + cpu, 0),
        allocatedMemoryBytes: BigInt(this.#here.reduce((sum, { memoryGib }) => sum + memoryGib * GIB, 0)),
        sandboxCount: this.#here.length,
        createSuccesses: this.#createSuccesses,
      },
    };
    await this.#running.client.heartbeat("n", fields);
  }

  async event(eventType: typeof CREATE | typeof DELETE, { id, cpu, memoryGib }: Sandbox): Promise<void> {
    await this.#running.client.ask("reportSandboxEvent", {
      nodeId: "n",
      clusterId: "",
      serviceInstanceId: "n-1",
      events: [
        {
          sandboxId: id,
          eventType,
          requestedCpu: cpu,
          requestedMemoryBytes: BigInt(memoryGib * GIB),
          requestedDiskBytes: 0n,
        },
      ],
    });
  }

  /** What the scheduler counts with. */
  async projected(): Promise<{ cpu: number; memory_bytes: number; starting: number }> {
    const { cpu, memory_bytes, starting } = (await this.#running.node("n")).projected;
    return { cpu, memory_bytes, starting };
  }

  async inFlight(): Promise<{ pending: number; confirmed: number }> {
    return (await this.#running.node("n")).reservations;
  }
}

async function scheduleAll(running: GrpcProcess, node: OldNode): Promise<void> {
  let cpu = 0;
  let memoryBytes = 0;
  await node.report();
  for (const sandbox of SANDBOXES) {
    await running.client.ask("schedule", coldSandbox(sandbox.cpu, sandbox.memoryGib * 1024));
    cpu += sandbox.cpu;
    memoryBytes += sandbox.memoryGib * GIB;
    expect(await node.projected()).toMatchObject({ cpu, memory_bytes: memoryBytes });
  }
}

test("with events: each CREATE finds its own reservation, and projected load is exact after every step", async () => {
  await using running = await GrpcProcess.start(staticNodes("n"));
  const node = new OldNode(running);
  await scheduleAll(running, node);
  let pending = 3;
  for (const sandbox of SANDBOXES.toReversed()) {
    node.create(sandbox);
    await node.event(CREATE, sandbox);
    pending -= 1;
    expect(await node.projected()).toMatchObject({ ...ALL, starting: pending });
    expect(await node.inFlight()).toEqual({ pending, confirmed: 1 });
    await running.client.ask("recordAssignment", {
      sandboxId: sandbox.id,
      node: { nodeId: "n", endpoint: "http://n:8000" },
    });
    expect(await node.projected()).toMatchObject(ALL);
    // The first report whose roster has it may have summed up before it was there, and is not believed unless it grew
    // by everything that is new in it; the second one is. Meanwhile it counts twice rather than not at all.
    await node.report();
    expect((await node.projected()).cpu).toBeGreaterThanOrEqual(ALL.cpu);
    await node.report();
    expect(await node.projected()).toMatchObject({ ...ALL, starting: pending });
    expect(await node.inFlight()).toEqual({ pending, confirmed: 0 });
    expect((await running.client.ask("lookupNode", { sandboxId: sandbox.id })).node?.nodeId).toBe("n");
  }
  const left = { ...ALL };
  for (const sandbox of SANDBOXES) {
    node.delete(sandbox);
    await node.event(DELETE, sandbox);
    await node.report();
    left.cpu -= sandbox.cpu;
    left.memory_bytes -= sandbox.memoryGib * GIB;
    expect(await node.projected()).toMatchObject(left);
  }
});

test("without events: never less is charged than is still to come, and in the end exactly what is there", async () => {
  await using running = await GrpcProcess.start(staticNodes("n"));
  const node = new OldNode(running);
  await scheduleAll(running, node);
  // By its sums alone a report does not say which of the three was created: the least that it can be leaves the sums.
  const expected = [
    { cpu: 4 + 6, memory_bytes: (16 + 22) * GIB },
    { cpu: 6 + 4, memory_bytes: (22 + 16) * GIB },
    // The small one did not add what is still charged for the large one: only two more reports end that.
    { cpu: 7 + 4, memory_bytes: (23 + 16) * GIB },
  ];
  for (const [step, sandbox] of SANDBOXES.toReversed().entries()) {
    node.create(sandbox);
    await running.client.ask("recordAssignment", {
      sandboxId: sandbox.id,
      node: { nodeId: "n", endpoint: "http://n:8000" },
    });
    await node.report();
    expect(await node.projected()).toMatchObject(expected[step] ?? {});
  }
  await node.report();
  await node.report();
  expect(await node.projected()).toMatchObject({ ...ALL, starting: 0 });
  expect(await node.inFlight()).toEqual({ pending: 0, confirmed: 0 });
  for (const sandbox of SANDBOXES) node.delete(sandbox);
  await node.report();
  expect(await node.projected()).toMatchObject({ cpu: 0, memory_bytes: 0, starting: 0 });
});
