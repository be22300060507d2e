import { type ClientHttp2Session, connect, constants } from "node:http2";
import { connect as connectTcp } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  RecordAssignmentRequest,
  ScheduleRequest,
  ScheduleResponse,
} from "../../src/messages/proto/generated/scheduler/v1/scheduler.ts";
import { coldSandbox, type GrpcClient, heartbeatOf, refusedOf, status } from "../unit/grpc/client.ts";
import { GrpcProcess, staticNodes } from "./grpc-process.ts";

const MIB = 2 ** 20;
const SCHEDULE = "/scheduler.v1.Scheduler/Schedule";

let running: GrpcProcess;
let client: GrpcClient;
beforeAll(async () => {
  running = await GrpcProcess.start(staticNodes("n"));
  client = running.client;
  await client.heartbeat("n");
});
afterAll(() => running[Symbol.asyncDispose]());

/** It still answers, as at the start. */
async function expectAlive(): Promise<void> {
  expect((await client.ask("listNodes", {})).nodes).toHaveLength(1);
}

/** Field 200 as each wire type that a newer client may use: varint, 64 bits, bytes, 32 bits. */
const UNKNOWN_FIELDS = Buffer.from([
  ...[0xc0, 0x0c, 0x96, 0x01],
  ...[0xc1, 0x0c, 1, 2, 3, 4, 5, 6, 7, 8],
  ...[0xc2, 0x0c, 0x03, 0x61, 0x62, 0x63],
  ...[0xc5, 0x0c, 1, 2, 3, 4],
]);

test("fields that only a newer client knows are ignored, at any depth", async () => {
  const coldHint = Buffer.concat([Buffer.from([0x08, 2, 0x10, 0x80, 0x08]), UNKNOWN_FIELDS]);
  const hint = Buffer.concat([Buffer.from([0x0a, coldHint.length]), coldHint, UNKNOWN_FIELDS]);
  // Field 1 is reserved: an older client may still send it.
  const request = Buffer.concat([Buffer.from([0x0a, 1, 0x78, 0x12, hint.length]), hint, UNKNOWN_FIELDS]);
  const { response } = await client.send(SCHEDULE, request);
  expect(ScheduleResponse.decode(response).node).toEqual({ nodeId: "n", endpoint: "http://n:8000" });
  const { reservations } = await client.ask("list", { nodeId: "n", state: 0, limit: 0, cursor: "" });
  expect(reservations[0]).toMatchObject({ cpuMillicores: 2000n, memoryBytes: 1024n * 2n ** 20n });
});

test("bytes that are no message are an invalid argument", async () => {
  for (const bytes of [Buffer.from([0x12, 0x7f, 1]), Buffer.alloc(20, 0xff), Buffer.from([0x0f])]) {
    expect(await refusedOf(client.send(SCHEDULE, bytes))).toEqual({
      code: status.INVALID_ARGUMENT,
      details: "the message is not a valid request",
    });
  }
  await expectAlive();
});

test("64 KiB are taken, more are not, except in a heartbeat", async () => {
  const sized = (bytes: number): Buffer => {
    const empty = RecordAssignmentRequest.encode({ sandboxId: "s", node: { nodeId: "n", endpoint: "x" } }).finish();
    const endpoint = "x".repeat(bytes - empty.length);
    const encoded = RecordAssignmentRequest.encode({ sandboxId: "s", node: { nodeId: "n", endpoint } }).finish();
    return Buffer.from(encoded.subarray(0));
  };
  const path = "/scheduler.v1.Scheduler/RecordAssignment";
  expect(await refusedOf(client.send(path, sized(64 * 1024 - 8)))).toMatchObject({ code: status.INVALID_ARGUMENT });
  expect(await refusedOf(client.send(path, sized(64 * 1024 + 8)))).toEqual({
    code: status.RESOURCE_EXHAUSTED,
    details: "the message is longer than 65536 bytes",
  });
  const sandboxIds = Array.from({ length: 100_000 }, (_, index) => `sandbox-${String(index).padStart(56, "0")}`);
  expect(await client.heartbeat("n", { sandboxIds })).toBe("");
  const padded = sandboxIds.map((sandboxId) => `${sandboxId}${"x".repeat(40)}`);
  expect(await client.refusal("heartbeat", heartbeatOf("n", { sandboxIds: padded }))).toMatchObject({
    code: status.RESOURCE_EXHAUSTED,
  });
  expect(await client.refusal("heartbeat", heartbeatOf("n", { sandboxIds: ["s", ...sandboxIds] }))).toEqual({
    code: status.INVALID_ARGUMENT,
    details: "sandbox_ids must list at most 100000",
  });
  expect(
    await client.refusal("heartbeat", heartbeatOf("n", { machineInfo: { cpuConfigJson: "x".repeat(MIB + 1) } })),
  ).toMatchObject({ code: status.INVALID_ARGUMENT, details: expect.stringContaining("machine_info.cpu_config_json") });
  await client.heartbeat("n");
  await expectAlive();
});

/** One call of which the test writes the frames of gRPC itself. Resolves to `grpc-status`, or null when cut off. */
function callWith(session: ClientHttp2Session, body: Buffer): Promise<string | null> {
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: "POST",
    [constants.HTTP2_HEADER_PATH]: SCHEDULE,
    [constants.HTTP2_HEADER_CONTENT_TYPE]: "application/grpc",
    te: "trailers",
  });
  let grpcStatus: string | null = null;
  const note = (headers: object): void => {
    grpcStatus = (headers as Record<string, string>)["grpc-status"] ?? grpcStatus;
  };
  stream
    .on("response", note)
    .on("trailers", note)
    .on("error", () => undefined);
  stream.resume();
  stream.end(body);
  return new Promise((resolve) => stream.on("close", () => resolve(grpcStatus)));
}

test("frames that are cut off, or lie about their length, end their call and nothing else", async () => {
  const session = connect(`http://${running.address}`);
  session.on("error", () => undefined);
  const message = Buffer.from(ScheduleRequest.encode(coldSandbox(1, 1)).finish());
  const frame = (flag: number, length: number): Buffer => {
    const head = Buffer.from([flag, 0, 0, 0, 0]);
    head.writeUInt32BE(length, 1);
    return Buffer.concat([head, message]);
  };
  const answers = [
    await callWith(session, frame(0, message.length + 100)),
    await callWith(session, Buffer.from([0, 0, 0])),
    await callWith(session, Buffer.alloc(0)),
    await callWith(session, frame(0, 2 ** 32 - 1)),
  ];
  expect(answers.filter((answer) => answer === "0")).toEqual([]);
  expect(answers[3]).toBe(String(status.RESOURCE_EXHAUSTED));
  // The connection is as good as it was.
  expect(await callWith(session, frame(0, message.length))).toBe("0");
  session.destroy();

  await new Promise<void>((resolve) => {
    const [host = "", port] = running.address.split(":");
    const socket = connectTcp(Number(port), host, () => socket.write("GET / HTTP/1.1\r\n\r\n".repeat(100)));
    socket.on("error", () => undefined).on("close", () => resolve());
    socket.resume();
  });
  await expectAlive();
});

test("an unknown method is UNIMPLEMENTED", async () => {
  const refusal = await refusedOf(client.send("/scheduler.v1.Scheduler/Explode", Buffer.alloc(0)));
  expect(refusal.code).toBe(status.UNIMPLEMENTED);
});
