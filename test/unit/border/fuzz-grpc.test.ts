import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectTcp } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RESERVATION_STATES } from "../../../src/messages/placement.ts";
import { ReservationsService } from "../../../src/messages/proto/generated/evenkeel/v1/reservations.ts";
import { SchedulerService } from "../../../src/messages/proto/generated/scheduler/v1/scheduler.ts";
import { RunningServers } from "../access/running-servers.ts";
import { coldSandbox, GrpcClient, heartbeatOf, status } from "../grpc/client.ts";
import { Drawer } from "./seeded.ts";

const SEED = 20_260_730;
const CASES_OF_EACH = 40;

let servers: RunningServers;
let client: GrpcClient;
let session: ClientHttp2Session;
let token: string;
beforeAll(async () => {
  servers = await RunningServers.start({
    flags: { startGuard: "0s", reportTtl: "10m" },
    config: { nodes: [{ id: "n1", endpoint: "http://n1:8000" }] },
  });
  client = new GrpcClient(servers.grpcAddress);
  session = connect(`http://${servers.grpcAddress}`);
  session.on("error", () => undefined);
  await client.heartbeat("n1", { sandboxIds: ["s0"] });
  const managed = { "evenkeel-managed": "1" };
  const { metadata } = await client.call("schedule", coldSandbox(1, 1024), managed);
  token = String(metadata.get("evenkeel-reservation-token")[0]);
});
afterAll(async () => {
  client[Symbol.dispose]();
  session.destroy();
  await servers[Symbol.asyncDispose]();
});

async function stateOf(): Promise<unknown> {
  const { nodes } = (await servers.call("GET", "/v1/nodes")).body;
  const states = await Promise.all(
    RESERVATION_STATES.map(
      async (state) => (await servers.call("GET", `/v1/reservations?state=${state}&limit=10000`)).body,
    ),
  );
  const { nodes: observed } = await client.ask("listObservedNodes", { clusterId: "" });
  return { nodes: nodes?.map((node) => ({ ...node, last_seen: null })), states, observed };
}

interface Ended {
  /** Of the HTTP answer, or null when there was none. */
  readonly http: number | null;
  /** `grpc-status`, or null. */
  readonly code: number | null;
  /** How the stream was reset; 0: not at all. */
  readonly reset: number;
}

/** One stream with these bytes of body, whatever they are. */
function stream(path: string, body: Buffer, headers: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    let http: number | null = null;
    let code: number | null = null;
    const note = (fields: Record<string, unknown>): void => {
      if (fields["grpc-status"] !== undefined) code = Number(fields["grpc-status"]);
    };
    const request = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    request.on("response", (fields) => {
      http = Number(fields[":status"]);
      note(fields);
    });
    request.on("trailers", note);
    request.on("error", () => undefined);
    request.on("close", () => resolve({ http, code, reset: request.rstCode }));
    request.resume();
    request.end(body);
  });
}

/** A message in its frame (grpc/grpc, doc/PROTOCOL-HTTP2.md): a flag of compression, and the length. */
function framed(message: Buffer, { flag = 0, length = message.length } = {}): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

/** What says that the call was wrong; the others say that the server was. */
const CALLERS_FAULT: readonly number[] = [
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.FAILED_PRECONDITION,
  status.RESOURCE_EXHAUSTED,
  status.UNIMPLEMENTED,
  status.CANCELLED,
];

const good: Readonly<Record<string, Buffer>> = {
  schedule: SchedulerService.schedule.requestSerialize(coldSandbox(1, 1)),
  heartbeat: SchedulerService.heartbeat.requestSerialize(heartbeatOf("n1", { sandboxIds: ["s9"] })),
};

/** Protobuf that no message is: truncated in a field, of a wrong wire type, or with a number of no field. */
function brokenMessage(drawer: Drawer, name: string): Buffer {
  const bytes = good[name] ?? Buffer.from([0x0a, 0x02, 0x6e, 0x31]);
  return drawer.pick([
    Buffer.from([0xff]),
    Buffer.from([0x0a, 0x7f, 0x61]),
    Buffer.from([0x0a]),
    Buffer.from([0x0f, 0x01]),
    Buffer.from([0x00, 0x01]),
    Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
    Buffer.concat([bytes, Buffer.from([0x12, 0xff, 0x01])]),
    Buffer.concat([bytes, Buffer.from([0x00])]),
    Buffer.concat([bytes, Buffer.from([0x3c])]),
    // Groups, one in the other, which end nowhere.
    Buffer.alloc(1 + drawer.below(60_000), 0x0b),
  ]);
}

const METHODS = [...Object.entries(SchedulerService), ...Object.entries(ReservationsService)].map(
  ([name, { path }], index) => ({ name, path, index }),
);

describe(`what is no message is refused, and changes nothing (seed ${SEED})`, () => {
  test.each(METHODS)("$name", async ({ name, path, index }) => {
    const drawer = new Drawer(SEED + index);
    const before = await stateOf();
    for (let number = 0; number < CASES_OF_EACH; number++) {
      const message = brokenMessage(drawer, name);
      const { http, code } = await stream(path, framed(message));
      const what = `${message.subarray(0, 40).toString("hex")} → ${http} ${code}`;
      expect(http, what).toBe(200);
      expect(CALLERS_FAULT, what).toContain(code);
    }
    expect(await stateOf()).toEqual(before);
  });

  test("noise is refused, or a message of fields that nobody knows", async () => {
    const drawer = new Drawer(SEED);
    const before = await stateOf();
    for (const { path } of METHODS) {
      for (let number = 0; number < CASES_OF_EACH; number++) {
        const message = drawer.bytes(drawer.below(64));
        const { http, code } = await stream(path, framed(message));
        const what = `${path} ${message.toString("hex")} → ${http} ${code}`;
        expect([status.OK, ...CALLERS_FAULT], what).toContain(code);
      }
    }
    expect(await stateOf()).toEqual(before);
  });

  test("an id, an amount or a list beyond its bounds", async () => {
    const before = await stateOf();
    const heartbeats = [
      heartbeatOf("a b", {}),
      heartbeatOf("x".repeat(257), {}),
      heartbeatOf("n1", { serviceInstanceId: "\n" }),
      heartbeatOf("n1", { sandboxIds: ["ok", ""] }),
      heartbeatOf("n1", { sandboxIds: Array.from({ length: 100_001 }, (_, number) => `s${number}`) }),
      heartbeatOf("n1", { snapshot: { allocatedMemoryBytes: 2n ** 53n } }),
      heartbeatOf("n1", { snapshot: { memoryTotalBytes: 2n ** 64n - 1n } }),
      heartbeatOf("n1", { snapshot: { createSuccesses: 2n ** 60n } }),
    ];
    for (const heartbeat of heartbeats) {
      expect((await client.refusal("heartbeat", heartbeat)).code).toBe(status.INVALID_ARGUMENT);
    }
    expect((await client.refusal("confirm", { token, sandboxId: "ü", force: true })).code).toBe(
      status.INVALID_ARGUMENT,
    );
    expect((await client.refusal("schedule", coldSandbox(1, 2 ** 33))).code).toBe(status.INVALID_ARGUMENT);
    expect(await stateOf()).toEqual(before);
  });
});

describe("frames that are wrong", () => {
  const { path } = SchedulerService.heartbeat;
  const message = good.heartbeat ?? Buffer.alloc(0);

  test.each([
    ["a head of three bytes", Buffer.from([0, 0, 0])],
    ["less than the length says", framed(message, { length: message.length + 1 })],
    ["two messages", Buffer.concat([framed(message), framed(message)])],
    ["no message", Buffer.alloc(0)],
    ["a length of 4 GiB", framed(message, { length: 2 ** 32 - 1 })],
    ["9 MiB", framed(Buffer.alloc(9 * 2 ** 20))],
  ])("%s", async (_, body) => {
    const before = await stateOf();
    const { http, code, reset } = await stream(path, body);
    expect(http === 200 || reset !== 0).toBe(true);
    expect(code).not.toBe(0);
    expect(code).not.toBe(status.UNKNOWN);
    expect(await stateOf()).toEqual(before);
  });

  test("64 MiB of zeros, packed into a message of 64 KiB", async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20));
    const { code } = await stream(path, framed(bomb, { flag: 1 }), { "grpc-encoding": "gzip" });
    expect(code).toBe(status.RESOURCE_EXHAUSTED);
  });

  test.each([
    ["an encoding that nobody knows", { "grpc-encoding": "brotli" }, [status.UNIMPLEMENTED]],
    ["garbage that says it is gzip", { "grpc-encoding": "gzip" }, [status.INTERNAL, status.INVALID_ARGUMENT]],
    [
      "a timeout that is none",
      { "grpc-timeout": "soon" },
      [status.INTERNAL, status.INVALID_ARGUMENT, status.OUT_OF_RANGE],
    ],
  ])("%s", async (_, headers, codes) => {
    const before = await stateOf();
    const { code } = await stream(path, framed(message, { flag: 1 }), headers);
    expect(codes).toContain(code);
    expect(await stateOf()).toEqual(before);
  });

  test("another content type is no call", async () => {
    expect((await stream(path, framed(message), { "content-type": "application/json" })).http).toBe(415);
  });

  test("an unknown method is UNIMPLEMENTED", async () => {
    expect((await stream("/scheduler.v1.Scheduler/Nothing", framed(message))).code).toBe(status.UNIMPLEMENTED);
  });

  test.each([
    ["HTTP/1.1", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["noise", "\u0000\u0001\u0002".repeat(100)],
    ["a preface and then noise", `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${"\u00ff".repeat(100)}`],
  ])("%s ends the connection", async (_, text) => {
    const socket = connectTcp(servers.grpcPort, "127.0.0.1");
    socket.on("error", () => undefined).resume();
    socket.write(text, "latin1");
    await once(socket, "close");
  });

  test("and the server goes on to serve", async () => {
    expect((await client.ask("list", { nodeId: "", state: 0, limit: 0, cursor: "" })).reservations).toHaveLength(1);
    expect(servers.lines.filter(({ level }) => level === "error")).toEqual([]);
  });
});
