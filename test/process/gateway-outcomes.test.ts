/** Each way in which a create can end at its node: what the client is told, and what the scheduler then holds. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GatewayWorld } from "./gateway-world.ts";

let world: GatewayWorld;

beforeAll(async () => {
  world = await GatewayWorld.start({
    nodes: ["node-a", "node-b"],
    gatewayArgs: ["--create-timeout", "1s"],
  });
});
afterAll(() => world[Symbol.asyncDispose]());

interface Case {
  readonly stub: string;
  readonly status: number;
  /** State, mark and reason of each reservation that it took, in order. */
  readonly reservations: readonly (readonly [state: string, uncertain: boolean, reason: string | null])[];
}

const CONFIRMED = ["confirmed", false, null] as const;
const UNCERTAIN = ["pending", true, null] as const;

describe("a create that the node answers", () => {
  const cases: Case[] = [
    { stub: "201", status: 201, reservations: [CONFIRMED] },
    { stub: "201-e2b", status: 201, reservations: [CONFIRMED] },
    { stub: "201-body", status: 201, reservations: [CONFIRMED] },
    { stub: "201-gzip", status: 201, reservations: [CONFIRMED] },
    { stub: "201-chunks", status: 201, reservations: [CONFIRMED] },
    { stub: "201-body-chunks", status: 201, reservations: [CONFIRMED] },
    { stub: "201-nameless", status: 201, reservations: [UNCERTAIN] },
    { stub: "201-big-nameless", status: 201, reservations: [UNCERTAIN] },
    { stub: "201-broken", status: 502, reservations: [UNCERTAIN] },
    { stub: "500", status: 500, reservations: [["cancelled", false, "failed"]] },
    { stub: "501", status: 501, reservations: [["cancelled", false, "failed"]] },
    { stub: "400", status: 400, reservations: [["cancelled", false, "client_error"]] },
    { stub: "422", status: 422, reservations: [["cancelled", false, "client_error"]] },
    {
      stub: "429",
      status: 429,
      reservations: [
        ["cancelled", false, "refused"],
        ["cancelled", false, "refused"],
      ],
    },
    {
      stub: "503",
      status: 503,
      reservations: [
        ["cancelled", false, "refused"],
        ["cancelled", false, "refused"],
      ],
    },
    { stub: "408", status: 504, reservations: [UNCERTAIN] },
    { stub: "499", status: 502, reservations: [UNCERTAIN] },
    { stub: "502", status: 502, reservations: [UNCERTAIN] },
    { stub: "504", status: 504, reservations: [UNCERTAIN] },
    { stub: "503-via", status: 502, reservations: [UNCERTAIN] },
    { stub: "503-nginx", status: 502, reservations: [UNCERTAIN] },
    { stub: "silent", status: 504, reservations: [UNCERTAIN] },
    { stub: "reset", status: 502, reservations: [UNCERTAIN] },
  ];
  test.each(cases)("with $stub: $status", async ({ stub, status, reservations }) => {
    await world.newReservations();
    const response = await world.create(stub);
    const text = await response.text();
    expect(response.status).toBe(status);
    const made = await world.newReservations();
    expect(made.map(({ state, uncertain, reason }) => [state, uncertain, reason])).toEqual(reservations);
    const charged = made.filter(({ state }) => state !== "cancelled");
    expect(charged.every(({ cpu, memory_bytes }) => cpu === 2 && memory_bytes === 2048 * 2 ** 20)).toBe(true);
    if (reservations[0] === UNCERTAIN && status >= 500) {
      expect(JSON.parse(text).error).toMatchObject({ details: { outcome: "unknown" } });
    }
  });

  test("and the client's sandbox is the one that was confirmed", async () => {
    await world.newReservations();
    const response = await world.create("201-body");
    const { sandboxID } = (await response.json()) as { sandboxID: string };
    const [made] = await world.newReservations();
    expect(made).toMatchObject({ state: "confirmed", sandbox_id: sandboxID });
  });
});

test("a node that refuses is left out of the next attempt, and its cancel comes first", async () => {
  await world.newReservations();
  const responses = [await world.create("node-a=503,node-b=201"), await world.create("node-b=429,node-a=201")];
  expect(responses.map(({ status }) => status)).toEqual([201, 201]);
  const made = await world.newReservations();
  expect(made.filter(({ state }) => state === "confirmed").map(({ node_id }) => node_id)).toEqual(["node-b", "node-a"]);
  expect(made.filter(({ state }) => state !== "confirmed").every(({ reason }) => reason === "refused")).toBe(true);
});

test("in flight is zero once nodes have reported and the uncertain have been closed", async () => {
  await world.settle();
  const left = await world.reservations();
  for (const { id, state } of left) {
    if (state === "pending") await world.scheduler.call("POST", `/v1/reservations/${id}/cancel`, {});
  }
  expect(await world.inFlight()).toEqual({ pending: 0, confirmed: 0 });
  expect(await world.metric("evenkeel_gateway_creates_running")).toBe(0);
  expect(world.program.stderr).not.toContain("rt_");
});
