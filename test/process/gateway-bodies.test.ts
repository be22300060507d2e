/** Bodies reach the other side byte for byte, whatever is in them and however they come. */
import { createHash } from "node:crypto";
import { request as rawRequest } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { seededRandom } from "../../src/ports/random.ts";
import { GatewayWorld } from "./gateway-world.ts";

let world: GatewayWorld;

beforeAll(async () => {
  world = await GatewayWorld.start({ nodes: ["node-a", "node-b"] });
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(async () => {
  for (const node of world.nodes) await node.seen();
  await world.newReservations();
});

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const seen = async () => (await Promise.all(world.nodes.map((node) => node.seen()))).flat();

const KIB = 2 ** 10;
const binary = (length: number): Buffer => Buffer.from(seededRandom(7).bytes(length));
const malformed = Buffer.from(`{"cpuCount": 2, "x": "${"\u0000ÿ€".repeat(200 * KIB)}`);
const padded = (length: number): Buffer => {
  const head = Buffer.from('{"cpuCount":3,"memoryMB":1024,"pad":"');
  return Buffer.concat([head, Buffer.alloc(length - head.length - 2, 0x61), Buffer.from('"}')]);
};

/** What is charged tells what was read of it. */
const bodies = [
  { what: "no bytes", body: Buffer.alloc(0), cpu: 0 },
  { what: "oddly written JSON", body: Buffer.from('\ufeff{ "cpuCount" : 2.0 , "cpuCount":3 }\r\n'), cpu: 0 },
  { what: "JSON", body: Buffer.from('{ "cpuCount" : 2.0 ,\n "memoryMB":512}\r\n'), cpu: 2 },
  { what: "1 KiB of anything", body: binary(KIB), cpu: 0 },
  { what: "64 KiB of JSON, the most that is read", body: padded(64 * KIB), cpu: 3 },
  { what: "a byte more", body: padded(64 * KIB + 1), cpu: 0 },
  { what: "1 MB of malformed JSON", body: malformed, cpu: 0 },
  { what: "8 MiB of anything", body: binary(8 * KIB * KIB), cpu: 0 },
];

test.each(bodies.flatMap((each) => [false, true].map((chunked) => ({ ...each, chunked }))))(
  "$what (chunked: $chunked)",
  async ({ body, cpu, chunked }) => {
    const { hostname, port } = new URL(world.url);
    const headers = {
      "content-type": "application/vnd.odd; charset=x; =",
      ...(chunked ? { "transfer-encoding": "chunked" } : { "content-length": body.length }),
    };
    const request = rawRequest({ hostname, port, path: "/sandboxes-cold", method: "POST", headers, agent: false });
    const answered = new Promise<number | undefined>((resolve, reject) => {
      request.once("response", (response) => resolve(response.resume().statusCode)).once("error", reject);
    });
    for (let at = 0; at < body.length; at += 50_000) request.write(body.subarray(at, at + 50_000));
    request.end();
    expect(await answered).toBe(201);
    expect(await seen()).toMatchObject([{ bodyBytes: body.length, sha256: sha256(body) }]);
    expect(await world.newReservations()).toMatchObject([{ state: "confirmed", cpu }]);
  },
);

test("a body that is kept whole is sent again elsewhere, a longer one is not", async () => {
  const create = (stub: string, body: Buffer) =>
    fetch(`${world.url}/sandboxes-cold`, { method: "POST", headers: { "x-stub": stub }, body: new Uint8Array(body) });
  const short = padded(60 * KIB);
  expect((await create("503", short)).status).toBe(503);
  expect((await seen()).map((each) => each.sha256)).toEqual([sha256(short), sha256(short)]);
  const long = binary(100 * KIB);
  expect((await create("503", long)).status).toBe(503);
  expect((await seen()).map((each) => each.sha256)).toEqual([sha256(long)]);
});

test("an answer of 20 MiB comes whole", async () => {
  const response = await world.create("201-big");
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(bytes.length).toBe(20 * KIB * KIB);
  const expected = Buffer.alloc(bytes.length);
  for (let at = 0; at < bytes.length; at += 4) expected.writeUInt32LE(Math.imul(at, 0x9e3779b1) >>> 0, at);
  expect(sha256(bytes)).toBe(sha256(expected));
});

test("an answer that comes slowly comes whole, and as it was where it was held back", async () => {
  expect(await (await world.create("201-chunks")).text()).toBe("slowly");
  const held = (await (await world.create("201-body-chunks")).json()) as { sandbox_id: string };
  expect(held.sandbox_id).toMatch(/^node-[ab]-sandbox-\d+$/);
});

test("a node may answer before it has read the body", async () => {
  const response = await fetch(`${world.url}/sandboxes-cold`, {
    method: "POST",
    headers: { "x-stub": "early-413" },
    body: new Uint8Array(binary(200 * KIB)),
  });
  expect(response.status).toBe(413);
  expect(await world.newReservations()).toMatchObject([{ state: "cancelled", reason: "client_error" }]);
});

test("a client that breaks off within what is read first leaves nothing behind", async () => {
  const { hostname, port } = new URL(world.url);
  const gone = 'evenkeel_gateway_create_duration_seconds_count{result="client_gone"}';
  const before = await world.metric(gone);
  const socket = connect(Number(port), hostname);
  socket.write("POST /sandboxes HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
  await expect.poll(() => world.metric("evenkeel_gateway_creates_running")).toBe(1);
  socket.destroy();
  await expect.poll(() => world.metric(gone)).toBe(before + 1);
  expect(await world.newReservations()).toEqual([]);
  expect(await seen()).toEqual([]);
});

test("Expect: 100-continue is answered here", async () => {
  const { hostname, port } = new URL(world.url);
  const socket = connect(Number(port), hostname);
  const head = "POST /sandboxes HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n";
  socket.write(`${head}Content-Length: 2\r\n\r\n`);
  const [first] = (await new Promise<[Buffer]>((resolve) => socket.once("data", (data) => resolve([data])))) as [
    Buffer,
  ];
  expect(String(first)).toMatch(/^HTTP\/1.1 100 Continue/);
  socket.write("{}");
  expect(await text(socket)).toMatch(/^HTTP\/1.1 201 /);
});
