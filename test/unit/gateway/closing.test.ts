import { describe, expect, test } from "vitest";
import { Closer } from "../../../src/actors/gateway/closing.ts";
import { FreshRoutes } from "../../../src/actors/gateway/fresh-routes.ts";
import { createGatewayMetrics } from "../../../src/actors/gateway/metrics.ts";
import type { Answered, Hold, Patience, Scheduler } from "../../../src/actors/gateway/scheduler.ts";
import { fakeClock, turns } from "../../fakes/clock.ts";
import { recordingLog } from "../../fakes/log.ts";

const NODE = { nodeId: "node-a", endpoint: "127.0.0.1:1" };
const OK: Answered<null> = { ok: true, value: null };
const failed = (code: string): Answered<null> => ({
  ok: false,
  failure: { code, message: code, details: {}, status: null, repeatable: code === "unavailable" || code === "timeout" },
});

/** A scheduler that gives these answers in turn, and keeps what it was asked. */
function world(answers: (Answered<null> | Promise<Answered<null>>)[]) {
  const asked: string[] = [];
  const next = async (call: string, { repeatForMs }: Patience): Promise<Answered<null>> => {
    asked.push(`${call} ${repeatForMs}`);
    return answers.shift() ?? OK;
  };
  const scheduler: Scheduler = {
    reserve: () => Promise.reject(new Error("not asked")),
    pick: () => Promise.reject(new Error("not asked")),
    lookup: () => Promise.reject(new Error("not asked")),
    confirm: (_token, { sandboxId, force }, patience) => next(`confirm ${sandboxId}${force ? " force" : ""}`, patience),
    cancel: (_token, reason, patience) => next(`cancel ${reason}`, patience),
    uncertain: (_token, reason, patience) => next(`uncertain ${reason}`, patience),
    recordAssignment: (sandboxId, node, patience) => next(`record ${sandboxId} on ${node.nodeId}`, patience),
    releaseSandbox: (sandboxId, patience) => next(`release ${sandboxId}`, patience),
  };
  const hold: Hold = {
    node: NODE,
    token: "rt_secret",
    reservationId: "rs_1",
    leftMs: 90_000,
    release: async () => void asked.push("lease released"),
  };
  const log = recordingLog();
  const clock = fakeClock();
  const freshRoutes = new FreshRoutes();
  const gauges = { createsRunning: () => 0, closingsPostponed: () => 0, upgradesOpen: () => 0 };
  const closer = new Closer({ scheduler, freshRoutes, clock, log, metrics: createGatewayMetrics(gauges) });
  return { closer, hold, asked, log, freshRoutes, clock };
}

describe("a confirm", () => {
  test.each([
    [OK, "confirmed", null],
    [failed("not_found"), "unknown", "warn"],
    [failed("conflict"), "conflict", "error"],
    [failed("expired"), "expired", "warn"],
    [failed("internal"), "failed", "error"],
  ] as const)("answered %j ends as %s", async (answer, end, level) => {
    const { closer, hold, asked, log } = world([answer]);
    expect(await closer.confirm(hold, "s", { force: false })).toBe(end);
    expect(asked.slice(0, 2)).toEqual(["lease released", "confirm s 0"]);
    expect(log.lines.map((line) => line.level)).toEqual(level === null ? [] : [level]);
    expect(JSON.stringify(log.lines)).not.toContain("rt_secret");
  });

  test("that is not answered is repeated for what is left of the lease, and the sandbox is found meanwhile", async () => {
    const second = Promise.withResolvers<Answered<null>>();
    const { closer, hold, asked, freshRoutes } = world([failed("timeout"), second.promise]);
    expect(await closer.confirm(hold, "s", { force: false })).toBe("postponed");
    expect([closer.postponed, freshRoutes.find("s", 0)]).toEqual([1, NODE]);
    second.resolve(OK);
    await turns();
    expect(asked).toEqual(["lease released", "confirm s 0", "confirm s 90000"]);
    expect([closer.postponed, freshRoutes.find("s", 0)]).toEqual([0, null]);
  });

  test("whose repeat comes too late is forced: its client has the sandbox", async () => {
    const { closer, hold, asked } = world([failed("unavailable"), failed("expired"), OK]);
    await closer.confirm(hold, "s", { force: false });
    await turns();
    expect(asked.slice(1)).toEqual(["confirm s 0", "confirm s 90000", "confirm s force 60000"]);
  });
});

test("a confirm of a reservation that nobody knows is told to the scheduler as an assignment", async () => {
  const { closer, hold, asked } = world([failed("not_found"), OK]);
  expect(await closer.confirm(hold, "s", { force: false })).toBe("unknown");
  await turns();
  expect(asked.slice(1)).toEqual(["confirm s 0", `record s on ${NODE.nodeId} 60000`]);
});

test("a mark waits until no renewal can overtake it", async () => {
  const { closer, hold, asked } = world([]);
  await closer.uncertain(hold, "reset");
  expect(asked).toEqual(["lease released", "uncertain reset 0"]);
});

test.each([
  [failed("unavailable"), ["cancel refused 0", "cancel refused 90000"]],
  [failed("not_found"), ["cancel refused 0"]],
  [OK, ["cancel refused 0"]],
])("a cancel answered %j", async (answer, calls) => {
  const { closer, hold, asked } = world([answer]);
  await closer.cancel(hold, "refused");
  await turns();
  expect(asked.slice(1)).toEqual(calls);
});

test("a release is repeated for a minute", async () => {
  const { closer, asked, freshRoutes } = world([failed("timeout"), OK]);
  freshRoutes.remember("s", NODE, 0);
  await closer.releaseSandbox("s");
  await turns();
  expect(asked).toEqual(["release s 0", "release s 60000"]);
  expect(freshRoutes.find("s", 0)).toBeNull();
});

test("waits for what is postponed, and no longer than it is told", async () => {
  const second = Promise.withResolvers<Answered<null>>();
  const { closer, hold, clock } = world([failed("timeout"), second.promise]);
  await closer.cancel(hold, "failed");
  const impatient = closer.idle(1_000);
  clock.advance(1_000);
  expect(await impatient).toBe(1);
  const patient = closer.idle(1_000);
  second.resolve(OK);
  expect(await patient).toBe(0);
  expect(clock.pending).toBe(0);
});
