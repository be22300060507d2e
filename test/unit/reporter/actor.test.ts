import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { ActorSystem } from "../../../src/actors/kernel/system.ts";
import { type ReporterMessage, reporter } from "../../../src/actors/reporter/actor.ts";
import type { Published } from "../../../src/messages/resource.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { fakeClock, turns } from "../../fakes/clock.ts";
import { type LogLine, recordingLog } from "../../fakes/log.ts";

interface Received {
  readonly path: string | undefined;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
  answer(status: number, body: object): void;
  /** Ends the connection without an answer. */
  drop(): void;
}

/** A stand-in for the far end of the wire: keeps what arrives until the test answers it. */
class FarEnd implements AsyncDisposable {
  readonly received: Received[] = [];
  readonly connections: Socket[] = [];
  readonly #server = createServer((request, response) => void this.#take(request, response));

  static async open(): Promise<FarEnd> {
    const farEnd = new FarEnd();
    farEnd.#server.on("connection", (socket: Socket) => farEnd.connections.push(socket));
    farEnd.#server.listen(0, "127.0.0.1");
    await once(farEnd.#server, "listening");
    return farEnd;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  }

  /** Waits for the `count`-th heartbeat. */
  heartbeat(count: number): Promise<Received> {
    return vi.waitFor(
      () => {
        const received = this.received[count - 1];
        if (received === undefined) throw new Error(`${this.received.length} heartbeats so far`);
        return received;
      },
      { timeout: 5_000, interval: 5 },
    );
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    this.received.push({
      path: request.url,
      text,
      body: JSON.parse(text),
      answer: (status, body) => void response.writeHead(status).end(JSON.stringify(body)),
      drop: () => void request.socket.destroy(),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** More bytes of memory than a JavaScript number counts exactly. */
const RESOURCE = '{"cpu":4,"mem":9223372036854775807,"xpu":[],"features":[],"utilization":{"memory":0.5}}';

function published(refreshes: number): Published {
  const body = new TextEncoder().encode(RESOURCE);
  const snapshot = {
    cpu: 4,
    memoryBytes: 0n,
    storageBytes: null,
    utilization: { cpu: null, memory: 0.5, pid: null, fd: null, disk: null },
  };
  return { type: "published", body, snapshot, sources: [], capacityAtMs: 0, refreshes };
}

function startReporter(schedulerUrl: string, { noRuntime = true, bootId = "boot-1" as string | null } = {}) {
  const clock = fakeClock();
  const lines: LogLine[] = [];
  const system = new ActorSystem({ clock, random: seededRandom(1), logFor: () => recordingLog(lines) });
  const reference = system.spawnLocal<ReporterMessage>(
    "reporter",
    reporter({
      schedulerUrl,
      nodeId: "box/1",
      intervalMs: 1_000,
      bootId,
      noRuntime,
      endpoint: null,
      token: () => null,
      tls: null,
    }),
  );
  const texts = (): string[] => lines.map(({ text }) => text);
  /** Lets time pass until the `count`-th heartbeat is there: the back-off before it is as long as it is. */
  async function retried(farEnd: FarEnd, count: number): Promise<Received> {
    return vi.waitFor(
      () => {
        const received = farEnd.received[count - 1];
        if (received !== undefined) return received;
        clock.advance(25);
        throw new Error(`${farEnd.received.length} heartbeats so far`);
      },
      { timeout: 10_000, interval: 5 },
    );
  }
  return { clock, system, reference, texts, retried };
}

describe("a heartbeat", () => {
  test("carries the resource part byte for byte, and who says it", async () => {
    await using farEnd = await FarEnd.open();
    const { reference, system } = startReporter(farEnd.url);
    reference.tell(published(1));
    const { path, text, body } = await farEnd.heartbeat(1);
    expect(path).toBe("/v1/nodes/box%2F1/heartbeat");
    expect(text).toContain(`"resource":${RESOURCE}`);
    expect(body).toMatchObject({ sequence: 1, resource_sequence: 1, boot_id: "boot-1", inventory: "none" });
    expect(body.service_instance_id).toMatch(/^[0-9a-f]{32}$/);
    await system.stop(0);
  });

  test("says nothing of boot and inventory where there is nothing to say", async () => {
    await using farEnd = await FarEnd.open();
    const { reference, system } = startReporter(farEnd.url, { noRuntime: false, bootId: null });
    reference.tell(published(1));
    const { body } = await farEnd.heartbeat(1);
    expect(Object.keys(body)).toEqual(["service_instance_id", "sequence", "resource_sequence", "resource"]);
    await system.stop(0);
  });

  test("keeps its connection and its instance, and counts each refresh once", async () => {
    await using farEnd = await FarEnd.open();
    const { reference, system } = startReporter(farEnd.url);
    for (let count = 1; count <= 3; count++) {
      reference.tell(published(count));
      reference.tell(published(count));
      const { answer } = await farEnd.heartbeat(count);
      answer(200, { generation: count });
      await vi.waitFor(() => expect(farEnd.received).toHaveLength(count));
      await turns(20);
    }
    expect(farEnd.received.map(({ body }) => body.resource_sequence)).toEqual([1, 2, 3]);
    expect(new Set(farEnd.received.map(({ body }) => body.service_instance_id)).size).toBe(1);
    expect(farEnd.connections).toHaveLength(1);
    await system.stop(0);
  });
});

describe("a scheduler that is away", () => {
  test("costs one log line when it is lost and one when it is found; only the newest refresh is sent", async () => {
    await using farEnd = await FarEnd.open();
    const { clock, reference, system, texts, retried } = startReporter(farEnd.url);
    reference.tell(published(1));
    (await farEnd.heartbeat(1)).drop();
    await vi.waitFor(() => expect(texts()).toHaveLength(1));
    for (let count = 2; count <= 9; count++) reference.tell(published(count));
    await turns();
    expect(farEnd.received).toHaveLength(1);
    // The first wait is one to two intervals.
    clock.advance(999);
    await turns(20);
    expect(farEnd.received).toHaveLength(1);
    clock.advance(1_001);
    (await farEnd.heartbeat(2)).drop();
    const third = await retried(farEnd, 3);
    expect(third.body.resource_sequence).toBe(9);
    third.answer(200, { generation: 1 });
    await vi.waitFor(() => expect(texts()).toHaveLength(2));
    expect(texts()[0]).toMatch(/^lost the scheduler at /);
    expect(texts()[1]).toMatch(/^reporting to the scheduler at /);
    await system.stop(0);
  });

  test("that never answers is given up at the deadline of 5 s", async () => {
    await using farEnd = await FarEnd.open();
    const { clock, reference, system, texts } = startReporter(farEnd.url);
    reference.tell(published(1));
    await farEnd.heartbeat(1);
    clock.advance(4_999);
    await turns(20);
    expect(texts()).toEqual([]);
    clock.advance(1);
    await vi.waitFor(() => expect(texts()).toEqual([expect.stringContaining("no answer within 5 s")]));
    await system.stop(0);
  });

  test.each([
    [503, "the scheduler is stopping"],
    [429, "too many requests wait"],
  ])("for a moment only (%i) is lost, not refusing", async (status, message) => {
    await using farEnd = await FarEnd.open();
    const { reference, system, texts } = startReporter(farEnd.url);
    reference.tell(published(1));
    (await farEnd.heartbeat(1)).answer(status, { error: { code: "unavailable", message, details: {} } });
    await vi.waitFor(() =>
      expect(texts()).toEqual([`lost the scheduler at ${farEnd.url}: ${message}; trying again until it is back`]),
    );
    await system.stop(0);
  });
});

test("a refusal is logged once in the API's words, and again only when the words change", async () => {
  await using farEnd = await FarEnd.open();
  const { reference, system, texts, retried } = startReporter(farEnd.url);
  const refuse = async (count: number, message: string): Promise<void> => {
    reference.tell(published(count));
    (await retried(farEnd, count)).answer(400, { error: { code: "invalid_argument", message, details: {} } });
  };
  await refuse(1, "node is not in scheduler node list");
  await refuse(2, "node is not in scheduler node list");
  await retried(farEnd, 3);
  expect(texts()).toEqual([
    expect.stringContaining("refuses this node's heartbeats: node is not in scheduler node list"),
  ]);
  await refuse(3, "an endpoint is missing");
  await vi.waitFor(() => expect(texts()).toHaveLength(2));
  expect(texts()[1]).toContain("an endpoint is missing");
  await system.stop(0);
});

test("a connection that the scheduler closed while it was idle is not taken for a loss", async () => {
  await using farEnd = await FarEnd.open();
  const { reference, system, texts } = startReporter(farEnd.url);
  reference.tell(published(1));
  (await farEnd.heartbeat(1)).answer(200, { generation: 1 });
  await vi.waitFor(() => expect(texts()).toHaveLength(1));
  reference.tell(published(2));
  // Reset in the moment of its reuse, as by a server whose idle time is over.
  (await farEnd.heartbeat(2)).drop();
  (await farEnd.heartbeat(3)).answer(200, { generation: 2 });
  expect(farEnd.received[2]?.body.resource_sequence).toBe(2);
  await turns(20);
  expect(texts()).toHaveLength(1);
  await system.stop(0);
});
