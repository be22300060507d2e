import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Refusal } from "../../../src/actors/kernel/cell.ts";
import { moduleUrl } from "../../../src/actors/kernel/module-url.ts";
import { ActorSystem, MAIN_THREAD } from "../../../src/actors/kernel/system.ts";
import { systemClock } from "../../../src/ports/clock.ts";
import { systemRandom } from "../../../src/ports/random.ts";
import { recordingLog } from "../../fakes/log.ts";
import { unwrap } from "../../fakes/outcome.ts";
import type { AskingMessage, AskingReplies } from "./actors/asks-another.ts";
import type { BlockMessage, BlockReplies } from "./actors/blocks-on-a-fifo.ts";
import type { CounterMessage, CounterReplies } from "./actors/counter.ts";
import type { BoomMessage, BoomReplies } from "./actors/throws-on-boom.ts";

const DEADLINE = { deadlineMs: 20_000 };
const module = (name: string): string => moduleUrl(import.meta.url, `./actors/${name}`);
const systems: ActorSystem[] = [];

function newSystem() {
  const log = recordingLog();
  const system = new ActorSystem({ clock: systemClock, random: systemRandom, logFor: () => log });
  systems.push(system);
  return { system, log };
}

afterEach(async () => {
  for (const system of systems.splice(0)) expect(await system.stop(5_000)).toEqual([]);
});

const counter = (system: ActorSystem, place: string) =>
  system.spawn<CounterMessage, CounterReplies>("counter", { module: module("counter"), init: { start: 5 } }, { place });

describe("an actor in a worker thread", () => {
  test("answers as it would in the main thread, in order, from another thread", async () => {
    const { system } = newSystem();
    const reference = counter(system, "worker");
    reference.tell({ type: "add", amount: 2 });
    reference.tell({ type: "add", amount: 3 });
    expect(await reference.ask({ type: "total" }, DEADLINE)).toEqual({ ok: true, value: 10 });
    expect(unwrap(await reference.ask({ type: "thread" }, DEADLINE))).not.toBe(threadId);
  });

  test("moves main → worker → another worker → main, and its callers see one unbroken count", async () => {
    const { system } = newSystem();
    const reference = counter(system, MAIN_THREAD);
    const threads: number[] = [];
    for (const place of ["first", "second", MAIN_THREAD]) {
      threads.push(unwrap(await reference.ask({ type: "thread" }, DEADLINE)));
      reference.tell({ type: "add", amount: 1 });
      const moved = system.move("counter", place, { handover: true });
      reference.tell({ type: "add", amount: 10 }); // sent while it moves: waits, is not lost
      await moved;
    }
    threads.push(unwrap(await reference.ask({ type: "thread" }, DEADLINE)));
    expect(await reference.ask({ type: "total" }, DEADLINE)).toEqual({ ok: true, value: 5 + 3 * 11 });
    expect(threads[0]).toBe(threads[3]);
    expect(new Set(threads).size).toBe(3);
  });

  test("posts to its outlet, logs and writes to itself by way of the main thread", async () => {
    const { system, log } = newSystem();
    const got: unknown[] = [];
    const outlet = {
      tell(message: unknown) {
        got.push(message);
        return null;
      },
    };
    const reference = system.spawn<CounterMessage, CounterReplies>(
      "counter",
      { module: module("counter"), init: { start: 0 } },
      { place: "worker", outlet },
    );
    for (const type of ["tell_outlet", "log", "add_by_self"] as const) reference.tell({ type });
    await reference.ask({ type: "total" }, DEADLINE);
    expect(await reference.ask({ type: "total" }, DEADLINE)).toEqual({ ok: true, value: 1 });
    expect(got).toEqual([{ type: "add", amount: 100 }]);
    expect(log.lines).toEqual([{ level: "warn", fields: { total: 0 }, text: "counted" }]);
  });

  test("an exception reaches the asker as data and is supervised", async () => {
    const { system } = newSystem();
    const failed = new Promise((resolve) => system.events.once("failed", resolve));
    const reference = system.spawn<BoomMessage, BoomReplies>(
      "boom",
      { module: module("throws-on-boom"), init: null },
      { place: "worker", backoff: { firstMs: 1, longestMs: 1 } },
    );
    const restarted = new Promise((resolve) => system.events.once("restarted", resolve));
    expect(await reference.ask({ type: "count" }, DEADLINE)).toEqual({ ok: true, value: 1 });
    expect(await reference.ask({ type: "boom" }, DEADLINE)).toEqual({
      ok: false,
      error: { code: "failed", message: 'boom could not handle "boom": boom, as told' },
    });
    expect(await failed).toEqual({ actor: "boom", reason: "boom, as told", retryMs: 1 });
    await restarted;
    expect(await reference.ask({ type: "count" }, DEADLINE)).toEqual({ ok: true, value: 1 });
  });

  test("a question to a thread that dies ends, and the actor lives again in a new one", async () => {
    const { system } = newSystem();
    const reference = system.spawn<{ type: "exit" } | { type: "hang" }, { hang: null }>(
      "exits",
      { module: module("exits-its-thread"), init: null },
      { place: "worker", backoff: { firstMs: 1, longestMs: 1 } },
    );
    const neighbour = counter(system, "worker");
    expect(await neighbour.ask({ type: "total" }, DEADLINE)).toEqual({ ok: true, value: 5 });
    const hanging = reference.ask({ type: "hang" }, DEADLINE);
    const restarted = new Promise<void>((resolve) => {
      const lives = new Set<string>();
      system.events.on("restarted", ({ actor }) => lives.add(actor).size === 1 && actor === "exits" && resolve());
    });
    reference.tell({ type: "exit" });
    expect(await hanging).toMatchObject({ ok: false, error: { code: "actor_dead" } });
    await restarted;
    expect(system.threads).toEqual(["worker"]);
  });

  test("an actor whose module cannot make it fails with its words", async () => {
    const { system } = newSystem();
    const failed = new Promise((resolve) => system.events.once("failed", resolve));
    system.spawn("broken", { module: module("cannot-be-made"), init: null }, { place: "worker" });
    expect(await failed).toEqual({ actor: "broken", reason: "no such device", retryMs: 1_000 });
  });

  test("a message that is not plain data is an error for its sender, not the end of the thread", async () => {
    const { system } = newSystem();
    const reference = system.spawn<CounterMessage, CounterReplies>(
      "counter",
      { module: module("counter"), init: { start: 5 } },
      { place: "worker", onFailure: "resume" },
    );
    const notPlain = { type: "total", listener: () => undefined } as unknown as { type: "total" };
    expect(await reference.ask(notPlain, DEADLINE)).toMatchObject({ ok: false, error: { code: "failed" } });
    expect(await reference.ask({ type: "total" }, DEADLINE)).toEqual({ ok: true, value: 5 });
  });
});

describe("an actor that speaks to actors of the main thread", () => {
  function spawnAsking(system: ActorSystem, place: string, mailboxCapacity = 100) {
    const other = system.spawn<CounterMessage, CounterReplies>(
      "counter",
      { module: module("counter"), init: { start: 5 } },
      { place: MAIN_THREAD, mailboxCapacity },
    );
    const asking = system.spawn<AskingMessage, AskingReplies>(
      "asking",
      { module: module("asks-another"), init: null },
      { place, references: { other }, backoff: { firstMs: 1, longestMs: 1 } },
    );
    return { other, asking };
  }
  const total = (value: number) => ({ ok: true, value: { ok: true, value } });

  test.each([MAIN_THREAD, "worker"])(
    "tells and asks them by the name it was given, in the thread %s",
    async (place) => {
      const { system } = newSystem();
      const { asking } = spawnAsking(system, place);
      asking.tell({ type: "add", amount: 2 });
      expect(await asking.ask({ type: "ask_total" }, DEADLINE)).toEqual(total(7));
      const failed = new Promise((resolve) => system.events.once("failed", resolve));
      asking.tell({ type: "know_nobody" });
      expect(await failed).toMatchObject({ reason: 'it was given no actor "nobody" to speak to' });
    },
  );

  test("is refused what no mailbox has room for, and what there is no room for under way: both are counted", async () => {
    const { system } = newSystem();
    const refused: Refusal[] = [];
    system.events.on("refused", (refusal) => refused.push(refusal));
    const { asking } = spawnAsking(system, "worker", 2);
    expect(await asking.ask({ type: "ask_total" }, DEADLINE)).toEqual(total(5));
    asking.tell({ type: "add_ones", count: 10 });
    // Three mailboxes full are under way at most; of those six that come together the mailbox takes two.
    await vi.waitFor(() => expect(refused.reduce((sum, { count }) => sum + count, 0)).toBe(8));
    expect(refused.map(({ actor, type, count }) => [actor, type, count])).toEqual([
      ...Array(4).fill(["counter", "add", 1]),
      ["counter", "add", 4],
    ]);
    expect(await asking.ask({ type: "ask_total" }, DEADLINE)).toEqual(total(7));
  });

  test("has the same references in its next life, in a new thread", async () => {
    const { system } = newSystem();
    const { asking } = spawnAsking(system, "worker");
    expect(await asking.ask({ type: "ask_total" }, DEADLINE)).toEqual(total(5));
    const restarted = new Promise((resolve) => system.events.once("restarted", resolve));
    asking.tell({ type: "exit" });
    await restarted;
    expect(await asking.ask({ type: "ask_total" }, DEADLINE)).toEqual(total(5));
  });

  test("is heard to its last word when it is stopped", async () => {
    const { system } = newSystem();
    const { asking, other } = spawnAsking(system, "worker");
    await asking.ask({ type: "ask_total" }, DEADLINE);
    await system.stopActor("asking");
    await vi.waitFor(async () =>
      expect(await other.ask({ type: "total" }, DEADLINE)).toEqual({ ok: true, value: 1_005 }),
    );
  });
});

describe("a thread that sits in a system call", () => {
  test("shows with whom it is busy; others can move away; it is used again when it comes back", async () => {
    const { system } = newSystem();
    const fifo = join(mkdtempSync(join(tmpdir(), "ek-")), "fifo");
    execFileSync("mkfifo", [fifo]);
    const blocked = system.spawn<BlockMessage, BlockReplies>(
      "blocked",
      { module: module("blocks-on-a-fifo"), init: { fifo } },
      { place: "shared", mailboxCapacity: 1 },
    );
    const neighbour = counter(system, "shared");
    expect(await neighbour.ask({ type: "total" }, DEADLINE)).toEqual({ ok: true, value: 5 });

    const reading = blocked.ask({ type: "read" }, DEADLINE);
    const waiting = neighbour.ask({ type: "total" }, DEADLINE);
    await vi.waitUntil(() => system.thread("shared")?.busyWith === "blocked");
    await system.move("counter", "fresh", { handover: false });
    expect(await neighbour.ask({ type: "total" }, DEADLINE)).toEqual({ ok: true, value: 5 });
    expect(system.thread("shared")?.busyWith).toBe("blocked");
    expect(blocked.tell({ type: "read" })?.code).toBe("mailbox_full");
    expect(system.threads.sort()).toEqual(["fresh", "shared"]);

    writeFileSync(fifo, "late");
    expect(await reading).toEqual({ ok: true, value: "late" });
    expect(await waiting).toEqual({ ok: true, value: 5 }); // asked before the move: the old life still answers it
    await vi.waitUntil(() => system.thread("shared")?.busyWith === null);
  });

  test("does not keep stop from ending, and is named", async () => {
    const system = new ActorSystem({ clock: systemClock, random: systemRandom, logFor: () => recordingLog() });
    const fifo = join(mkdtempSync(join(tmpdir(), "ek-")), "fifo");
    execFileSync("mkfifo", [fifo]);
    const blocked = system.spawn<BlockMessage, BlockReplies>(
      "blocked",
      { module: module("blocks-on-a-fifo"), init: { fifo } },
      { place: "stuck" },
    );
    const neighbour = counter(system, "free");
    await neighbour.ask({ type: "total" }, DEADLINE);
    const reading = blocked.ask({ type: "read" }, DEADLINE);
    await vi.waitUntil(() => system.thread("stuck")?.busyWith === "blocked");
    expect(await system.stop(300)).toEqual(["stuck"]);
    // Also lets this test's own process go: the call comes back, and the thread ends.
    writeFileSync(fifo, "end");
    // Its answer and the thread's end come by two ports: whichever is first ends the question.
    expect([
      { ok: true, value: "end" },
      {
        ok: false,
        error: { code: "actor_dead", message: expect.stringMatching(/^blocked could not handle "read": /) },
      },
    ]).toContainEqual(await reading);
    await vi.waitUntil(() => system.thread("stuck") === null);
    expect(system.threads).toEqual([]);
  });
});
