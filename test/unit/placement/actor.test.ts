import { describe, expect, test, vi } from "vitest";
import type { ReservationView } from "../../../src/messages/placement.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { turns } from "../../fakes/clock.ts";
import { heartbeatOf, scheduleOf, startPlacement } from "./running-placement.ts";
import { promptLog, ScriptedLog } from "./scripted-log.ts";

type Running = ReturnType<typeof startPlacement>;

async function scheduled({ ask }: Running, requestId: string | null = null): Promise<ReservationView> {
  const reply = await ask(scheduleOf(requestId));
  if (!reply?.ok || reply.answer.reservation === null) throw new Error(`not scheduled: ${JSON.stringify(reply)}`);
  return reply.answer.reservation;
}

describe("answers wait for the commit of what they were computed from", () => {
  test("a reservation, a repeat, a refusal and a read leave together with the batch they stand on", async () => {
    const log = promptLog();
    const running = startPlacement({ log });
    await running.ask(heartbeatOf("n1"));
    log.onAppend = null;
    expect(await running.ask(scheduleOf("r"))).toBeNull();
    const waiting = [
      running.client.ask(scheduleOf("r")),
      running.client.ask({ type: "get_reservation", handle: "rs_nobody" }),
      running.client.ask({ type: "list_nodes" }),
    ];
    await turns();
    expect(log.open).toHaveLength(1);
    log.open[0]?.end(null);
    const [repeat, refusal, read] = await Promise.all(waiting);
    expect(repeat).toMatchObject({ ok: true, answer: { repeated: true } });
    expect(refusal).toMatchObject({ ok: false, refusal: { code: "not_found" } });
    expect(read).toMatchObject({ ok: true, answer: { nodes: [{ reservations: { pending: 1 } }] } });
  });

  test("readiness waits for no commit", async () => {
    const log = promptLog();
    const running = startPlacement({ log });
    await running.ask(heartbeatOf("n1"));
    log.onAppend = null;
    await running.ask(scheduleOf());
    expect(log.open).toHaveLength(1);
    expect(await running.client.readiness()).toEqual({ ready: true, waitsFor: null });
  });

  test("routes, logs and metrics hear of nothing that is not committed", async () => {
    const log = promptLog();
    const running = startPlacement({ log });
    const told: string[] = [];
    running.events.on("committed", ({ events }) => told.push(...events.map(({ change }) => change.type)));
    await running.ask(heartbeatOf("n1"));
    const { token } = await scheduled(running);
    const routedBefore = running.routed.length;
    log.onAppend = null;
    await running.ask({ type: "confirm", handle: token ?? "", sandboxId: "s1", force: false });
    expect(told).not.toContain("confirmed");
    expect(running.routed).toHaveLength(routedBefore);
    log.open[0]?.end(null);
    expect(told.at(-1)).toBe("confirmed");
    expect(running.routed.at(-1)).toEqual({
      type: "routes",
      changes: [{ type: "assigned", sandboxId: "s1", nodeId: "n1", source: "confirm" }],
    });
  });
});

describe("a failed commit: answered as unknown, rebuilt from the log, repeated to the same end", () => {
  /** The life of two reservations; each step can be repeated when its outcome is unknown. */
  const steps = (): ((running: Running, tokens: Map<string, string>) => Promise<unknown>)[] => {
    const reserve = (name: string) => async (running: Running, tokens: Map<string, string>) => {
      const reply = await running.ask(scheduleOf(name));
      if (reply?.ok) tokens.set(name, reply.answer.reservation?.token ?? "");
      return reply;
    };
    const handle = (tokens: Map<string, string>, name: string): string => tokens.get(name) ?? "";
    return [
      (running) => running.ask(heartbeatOf("n1")),
      reserve("a"),
      reserve("b"),
      (running, tokens) => running.ask({ type: "renew", handle: handle(tokens, "a") }),
      (running, tokens) => running.ask({ type: "uncertain", handle: handle(tokens, "b") }),
      (running, tokens) => running.ask({ type: "confirm", handle: handle(tokens, "a"), sandboxId: "s1", force: false }),
      (running, tokens) => running.ask({ type: "cancel", handle: handle(tokens, "b"), reason: "failed" }),
      (running) => running.ask({ type: "cordon", nodeId: "n1", reason: "test" }),
      (running) => running.ask({ type: "uncordon", nodeId: "n1" }),
      (running) => running.ask({ type: "release_sandbox", sandboxId: "s1" }),
    ];
  };

  async function run(log: ScriptedLog): Promise<{ failed: number; end: unknown }> {
    const running = startPlacement({ log });
    const tokens = new Map<string, string>();
    let failed = 0;
    for (const step of steps()) {
      let reply = (await step(running, tokens)) as { ok: boolean; refusal?: { code: string; details: unknown } } | null;
      if (reply?.ok === false) {
        failed += 1;
        expect(reply.refusal).toMatchObject({ code: "unavailable", details: { retry: "unknown" } });
        expect(await running.client.readiness()).toMatchObject({ ready: false });
        expect(await running.ask(scheduleOf())).toMatchObject({
          ok: false,
          refusal: { details: { retry: "unchanged" } },
        });
        running.clock.advance(1_000);
        // Known nodes are awaited again until they report.
        await running.ask(heartbeatOf("n1"));
        reply = (await step(running, tokens)) as typeof reply;
      }
      expect(reply).toMatchObject({ ok: true });
    }
    const node = await running.ask({ type: "get_node", nodeId: "n1" });
    if (!node?.ok) throw new Error("the node is gone");
    const { inFlight, reservations, cordoned } = node.answer.node;
    const states = await Promise.all(
      [...tokens].map(async ([name, token]) => {
        const reply = await running.ask({ type: "get_reservation", handle: token });
        return reply?.ok ? `${name} ${reply.answer.reservation.state}` : `${name} gone`;
      }),
    );
    return { failed, end: { inFlight, reservations, cordoned, states } };
  }

  const UNHURT = {
    inFlight: { cpuMillicores: 0, memoryBytes: 0, count: 0 },
    reservations: { pending: 0, confirmed: 0 },
    cordoned: false,
    states: ["a released", "b cancelled"],
  };

  test("without a failure", async () => {
    const log = promptLog();
    expect(await run(log)).toEqual({ failed: 0, end: UNHURT });
    expect(log.appends).toBe(steps().length);
  });

  const appends = steps().map((_, index) => index + 1);
  test.each(appends)("when append %i fails and nothing of it was kept", async (failing) => {
    const log = new ScriptedLog();
    log.onAppend = (append, count) => append.end(count === failing ? "disk full" : null);
    expect(await run(log)).toEqual({ failed: 1, end: UNHURT });
  });

  test.each(appends)("when append %i fails and all of it was kept", async (failing) => {
    const log = new ScriptedLog();
    log.onAppend = (append, count) => (count === failing ? append.end("no answer", true) : append.end(null));
    expect(await run(log)).toEqual({ failed: 1, end: UNHURT });
  });

  test("when an append fails and was kept, look-ups find what its repeat is told", async () => {
    const log = new ScriptedLog();
    log.onAppend = (append) => append.end(null);
    const running = startPlacement({ log });
    await running.ask(heartbeatOf("n1"));
    const made = await running.ask(scheduleOf());
    if (made?.ok !== true || made.answer.reservation === null) throw new Error("no reservation");
    const confirm = {
      type: "confirm",
      handle: made.answer.reservation.token ?? "",
      sandboxId: "s1",
      force: false,
    } as const;
    log.onAppend = (append) => append.end("no answer", true);
    expect(await running.ask(confirm)).toMatchObject({ ok: false, refusal: { code: "unavailable" } });
    log.onAppend = (append) => append.end(null);
    running.clock.advance(1_000);
    expect(await running.ask(confirm)).toMatchObject({ ok: true, answer: { repeated: true } });
    expect(running.routed.at(-1)).toEqual({
      type: "restore",
      changes: [{ type: "assigned", sandboxId: "s1", nodeId: "n1", source: "confirm" }],
    });
  });

  test("a schedule that was answered as late is undelivered: cancelled, or uncertain with a request_id", async () => {
    const log = new ScriptedLog();
    const running = startPlacement({ log, config: { maxReservationAgeMs: 3_600_000 } });
    log.onAppend = (append) => append.end(null);
    await running.ask(heartbeatOf("n1"));
    log.onAppend = null; // from now on appends stay open
    const asked = [running.client.ask(scheduleOf()), running.client.ask(scheduleOf("r1"))];
    await vi.waitFor(() => expect(log.open.length).toBe(1));
    running.clock.advance(10_000);
    for (const reply of await Promise.all(asked)) expect(reply).toMatchObject({ refusal: { code: "unavailable" } });
    log.onAppend = (append) => append.end(null);
    log.open[0]?.end(null);
    const list = { type: "list_reservations", nodeId: null, limit: 10, cursor: null } as const;
    await vi.waitFor(async () => {
      const cancelled = await running.ask({ ...list, state: "cancelled" });
      expect(cancelled).toMatchObject({ answer: { reservations: [{ reason: "undelivered" }] } });
      const pending = await running.ask({ ...list, state: "pending" });
      expect(pending).toMatchObject({ answer: { reservations: [{ uncertain: true }] } });
    });
  });

  test("while an append takes its time, new work beyond the bound is refused and nothing of it is decided", async () => {
    const log = new ScriptedLog();
    const running = startPlacement({ log, waitingMax: 3 });
    let counted = 0;
    running.events.on("overloaded", () => counted++);
    log.onAppend = (append) => append.end(null);
    await running.ask(heartbeatOf("n1"));
    log.onAppend = null; // from now on appends stay open
    const refused: string[] = [];
    for (let count = 0; count < 20; count++) {
      const reply = await running.ask(scheduleOf());
      if (reply !== null && !reply.ok) refused.push(reply.refusal.code);
    }
    // One is in flight, three wait for it.
    expect(refused).toEqual(Array.from({ length: 16 }, () => "overloaded"));
    expect(counted).toBe(16);
    log.onAppend = (append) => append.end(null);
    log.open[0]?.end(null);
    const nodes = await running.ask({ type: "get_node", nodeId: "n1" });
    expect(nodes).toMatchObject({ ok: true, answer: { node: { reservations: { pending: 4 } } } });
  });

  test("a log that cannot be read is tried again after a back-off that doubles", async () => {
    const log = promptLog();
    log.unreadable = "i/o error";
    const retries: number[] = [];
    const running = startPlacement({ log });
    running.events.on("commitFailed", ({ retryMs }) => retries.push(retryMs));
    expect(await running.ask(heartbeatOf("n1"))).toMatchObject({ ok: false, refusal: { code: "unavailable" } });
    running.clock.advance(1_000);
    running.clock.advance(2_000);
    log.unreadable = null;
    running.clock.advance(3_999);
    expect((await running.client.readiness()).waitsFor).toBe("the log failed: i/o error");
    running.clock.advance(1);
    expect(await running.client.readiness()).toEqual({ ready: true, waitsFor: null });
    expect(retries).toEqual([2_000, 4_000]);
    expect(await running.ask(heartbeatOf("n1"))).toMatchObject({ ok: true });
  });
});

test("a log that makes no sense is not served from: it says why, and is tried again", async () => {
  const log = promptLog();
  log.kept.push({ position: 1, wallMs: 1, change: { type: "settled", id: "rs_nobody" } });
  const running = startPlacement({ log });
  expect(await running.ask(scheduleOf())).toMatchObject({ ok: false, refusal: { code: "unavailable" } });
  const waitsFor = "the log failed: it cannot be replayed: settled: no reservation rs_nobody";
  expect(await running.client.readiness()).toEqual({ ready: false, waitsFor });
  log.kept.length = 0;
  running.clock.advance(1_000);
  expect(await running.client.readiness()).toEqual({ ready: true, waitsFor: null });
});

describe("a handler that throws", () => {
  test("is answered internal and counted, is not tried again, and costs no other message anything", async () => {
    const chance = seededRandom(1);
    let broken = false;
    const running = startPlacement({
      log: promptLog(),
      random: {
        fraction: chance.fraction,
        bytes: (count) => {
          if (broken) throw new Error("no entropy");
          return chance.bytes(count);
        },
      },
    });
    const failures: string[] = [];
    running.events.on("committed", ({ notices }) => {
      for (const notice of notices) if (notice.type === "handler_failed") failures.push(notice.message);
    });
    await running.ask(heartbeatOf("n1"));
    broken = true;
    expect(await running.ask(scheduleOf())).toMatchObject({ ok: false, refusal: { code: "internal" } });
    expect(failures).toEqual(["no entropy"]);
    broken = false;
    expect((await scheduled(running)).state).toBe("pending");
    expect(await running.ask({ type: "get_node", nodeId: "n1" })).toMatchObject({
      answer: { node: { reservations: { pending: 1, confirmed: 0 } } },
    });
  });
});

describe("time passes without requests", () => {
  test("a lease that is over gives its capacity back within 1 s", async () => {
    const running = startPlacement({ log: promptLog(), config: { placementReservationTtlMs: 5_250 } });
    const expired: number[] = [];
    running.events.on("committed", ({ events }) => {
      for (const { change } of events) if (change.type === "expired") expired.push(running.clock.monotonicMs());
    });
    await running.ask(heartbeatOf("n1"));
    await scheduled(running);
    for (let step = 0; step < 70; step++) {
      running.clock.advance(100);
      await turns(2);
    }
    expect(expired).toHaveLength(1);
    expect(expired[0]).toBeGreaterThanOrEqual(5_250);
    expect(expired[0]).toBeLessThanOrEqual(6_250);
  });

  test("one tick is under way at a time, however many leases end", async () => {
    const running = startPlacement({ log: promptLog(), config: { placementReservationTtlMs: 1_000 } });
    await running.ask(heartbeatOf("n1"));
    const idle = running.clock.pending;
    for (let count = 0; count < 4; count++) {
      await scheduled(running);
      running.clock.advance(100);
      await turns(2);
    }
    expect(running.clock.pending).toBe(idle);
  });
});

describe("a full mailbox", () => {
  test("refuses new work as overloaded and changes nothing, while confirms still pass", async () => {
    const running = startPlacement({ log: promptLog(), mailboxCapacity: 2 });
    await running.ask(heartbeatOf("n1"));
    const { token } = await scheduled(running);
    const burst = [1, 2, 3, 4].map(() => running.client.ask(scheduleOf()));
    const confirm = running.client.ask({ type: "confirm", handle: token ?? "", sandboxId: "s1", force: false });
    const replies = await Promise.all(burst);
    expect(replies.map((reply) => (reply.ok ? "ok" : reply.refusal.code))).toEqual([
      "ok",
      "ok",
      "overloaded",
      "overloaded",
    ]);
    expect(await confirm).toMatchObject({ ok: true, answer: { reservation: { state: "confirmed" } } });
    expect(await running.ask({ type: "get_node", nodeId: "n1" })).toMatchObject({
      answer: { node: { reservations: { pending: 2, confirmed: 1 } } },
    });
  });
});
