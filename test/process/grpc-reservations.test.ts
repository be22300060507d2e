import { afterAll, beforeAll, expect, test } from "vitest";
import { coldSandbox, type GrpcClient, status } from "../unit/grpc/client.ts";
import { GrpcProcess, staticNodes } from "./grpc-process.ts";

const PENDING = 1;
const CONFIRMED = 2;
const CANCELLED = 4;

let running: GrpcProcess;
let client: GrpcClient;
beforeAll(async () => {
  running = await GrpcProcess.start(staticNodes("n"));
  client = running.client;
  await client.heartbeat("n");
});
afterAll(() => running[Symbol.asyncDispose]());

async function reserve(): Promise<string> {
  const { metadata } = await client.call("schedule", coldSandbox(1, 1024), { "evenkeel-managed": "1" });
  return String(metadata.get("evenkeel-reservation-token")[0]);
}

test("a reservation from its schedule to its confirm", async () => {
  const token = await reserve();
  const { reservation: pending } = await client.ask("get", { token });
  expect(pending).toMatchObject({ state: PENDING, managed: true, token, nodeId: "n", cpuMillicores: 1000n });
  expect(pending?.expiresAtUnixMs).toBe((pending?.createdAtUnixMs ?? 0n) + 120_000n);
  const { reservation: renewed } = await client.ask("renew", { token });
  expect(renewed?.expiresAtUnixMs).toBeGreaterThanOrEqual(pending?.expiresAtUnixMs ?? 0n);
  const { reservation: marked } = await client.ask("markUncertain", { token });
  expect(marked).toMatchObject({ state: PENDING, uncertain: true });
  const { reservation: confirmed } = await client.ask("confirm", { token, sandboxId: "s1", force: false });
  expect(confirmed).toMatchObject({ state: CONFIRMED, sandboxId: "s1", expiresAtUnixMs: undefined });
  expect((await client.ask("lookupNode", { sandboxId: "s1" })).node?.nodeId).toBe("n");
  // By its public id it is the same one, without its token.
  const { reservation: byId } = await client.ask("get", { token: confirmed?.id ?? "" });
  expect(byId).toEqual({ ...confirmed, token: undefined });
});

test("a cancelled one says so, and is not confirmed any more", async () => {
  const token = await reserve();
  const { reservation } = await client.ask("cancel", { token, reason: "client_gone" });
  expect(reservation).toMatchObject({ state: CANCELLED, reason: "client_gone", cpuMillicores: 0n, memoryBytes: 0n });
  expect((await client.ask("cancel", { token, reason: "client_gone" })).reservation).toEqual(reservation);
  expect(await client.refusal("confirm", { token, sandboxId: "s2", force: false })).toMatchObject({
    code: status.FAILED_PRECONDITION,
  });
  expect(await client.refusal("renew", { token })).toMatchObject({ code: status.FAILED_PRECONDITION });
});

test("a sandbox id that belongs to another reservation ALREADY_EXISTS", async () => {
  await client.ask("confirm", { token: await reserve(), sandboxId: "taken", force: false });
  const refusal = await client.refusal("confirm", { token: await reserve(), sandboxId: "taken", force: false });
  expect(refusal.code).toBe(status.ALREADY_EXISTS);
});

test("unknown tokens are NOT_FOUND in every call, empty ones are refused by their name", async () => {
  const token = "rt_unknown";
  const refusals = (given: string) =>
    Promise.all([
      client.refusal("confirm", { token: given, sandboxId: "s", force: false }),
      client.refusal("cancel", { token: given, reason: "" }),
      client.refusal("renew", { token: given }),
      client.refusal("markUncertain", { token: given }),
      client.refusal("get", { token: given }),
    ]);
  expect((await refusals(token)).map(({ code }) => code)).toEqual(Array(5).fill(status.NOT_FOUND));
  for (const { code, details } of await refusals("")) {
    expect(code).toBe(status.INVALID_ARGUMENT);
    expect(details).toContain("token is missing");
  }
  expect(await client.refusal("confirm", { token, sandboxId: "", force: false })).toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: expect.stringContaining("sandbox_id is missing"),
  });
});

test("lists page by page, by node and state", async () => {
  const tokens = [await reserve(), await reserve(), await reserve()];
  const all = await client.ask("list", { nodeId: "n", state: PENDING, limit: 0, cursor: "" });
  const first = await client.ask("list", { nodeId: "n", state: PENDING, limit: 2, cursor: "" });
  expect(first.reservations).toEqual(all.reservations.slice(0, 2));
  const second = await client.ask("list", { nodeId: "n", state: PENDING, limit: 10_000, cursor: first.cursor });
  expect([...first.reservations, ...second.reservations]).toEqual(all.reservations);
  expect(second.cursor).toBe("");
  expect(all.reservations.every(({ token, state }) => token === undefined && state === PENDING)).toBe(true);
  expect((await client.ask("list", { nodeId: "other", state: 0, limit: 0, cursor: "" })).reservations).toEqual([]);
  for (const token of tokens) await client.ask("cancel", { token, reason: "" });

  expect(await client.refusal("list", { nodeId: "", state: 0, limit: 10_001, cursor: "" })).toMatchObject({
    code: status.INVALID_ARGUMENT,
  });
  expect(await client.refusal("list", { nodeId: "", state: 9 as 1, limit: 0, cursor: "" })).toMatchObject({
    code: status.INVALID_ARGUMENT,
  });
});
