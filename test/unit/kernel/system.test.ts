import { describe, expect, test } from "vitest";
import type { Actor, ActorContext } from "../../../src/actors/kernel/actor.ts";
import type { Refusal } from "../../../src/actors/kernel/cell.ts";
import { ActorSystem } from "../../../src/actors/kernel/system.ts";
import { systemRandom } from "../../../src/ports/random.ts";
import { fakeClock, turns } from "../../fakes/clock.ts";
import { recordingLog } from "../../fakes/log.ts";
import { type BoomMessage, type BoomReplies, createActor as createBoom } from "./actors/throws-on-boom.ts";

function newSystem() {
  const clock = fakeClock();
  const system = new ActorSystem({ clock, random: systemRandom, logFor: () => recordingLog() });
  const failures: { reason: string; retryMs: number | null }[] = [];
  system.events.on("failed", ({ reason, retryMs }) => failures.push({ reason, retryMs }));
  return { clock, system, failures };
}

const DEADLINE = { deadlineMs: 1_000 };

describe("one message at a time", () => {
  test("a message sent from a handler is handled after that handler, in order", async () => {
    const { system } = newSystem();
    const seen: string[] = [];
    const reference = system.spawnLocal<{ type: "outer" | "inner" | "last" }>("log", {
      create: ({ tellSelf }: ActorContext): Actor<{ type: "outer" | "inner" | "last" }> => ({
        receive({ type }) {
          seen.push(`${type} begins`);
          if (type === "outer") tellSelf({ type: "inner" });
          seen.push(`${type} ends`);
        },
      }),
    });
    reference.tell({ type: "outer" });
    await turns();
    expect(seen).toEqual(["outer begins", "outer ends", "inner begins", "inner ends"]);
  });

  test("an answer may be given later, and only once", async () => {
    const { system } = newSystem();
    const kept: ((value: unknown) => void)[] = [];
    const reference = system.spawnLocal<{ type: "question" }, { question: number }>("slow", {
      create: () => ({ receive: (_message, answer) => void kept.push(answer) }),
    });
    const asked = reference.ask({ type: "question" }, DEADLINE);
    await turns();
    kept[0]?.(1);
    kept[0]?.(2);
    expect(await asked).toEqual({ ok: true, value: 1 });
  });

  test("drained follows the messages of a turn, once", async () => {
    const { system } = newSystem();
    const seen: string[] = [];
    const reference = system.spawnLocal<{ type: "m" }>("batch", {
      create: () => ({ receive: () => void seen.push("m"), drained: () => void seen.push("drained") }),
    });
    for (let sent = 0; sent < 3; sent++) reference.tell({ type: "m" });
    await turns();
    expect(seen).toEqual(["m", "m", "m", "drained"]);
  });
});

describe("every question ends", () => {
  test("in a deadline that names actor, message and time", async () => {
    const { clock, system } = newSystem();
    const reference = system.spawnLocal<{ type: "question" }, { question: null }>("mute", {
      create: () => ({ receive: () => undefined }),
    });
    let ended = false;
    const asked = reference.ask({ type: "question" }, { deadlineMs: 250 }).finally(() => {
      ended = true;
    });
    await turns();
    clock.advance(249);
    await turns();
    expect(ended).toBe(false);
    clock.advance(1);
    expect(await asked).toEqual({
      ok: false,
      error: { code: "deadline", message: 'mute did not answer "question" within 250 ms' },
    });
  });

  test("in a refusal when the mailbox is full, which is also counted", async () => {
    const { system } = newSystem();
    const refused: Refusal[] = [];
    system.events.on("refused", (refusal) => refused.push(refusal));
    const reference = system.spawnLocal<BoomMessage, BoomReplies>(
      "small",
      { create: createBoom },
      { mailboxCapacity: 2 },
    );
    const asked = [1, 2, 3].map(() => reference.ask({ type: "count" }, DEADLINE));
    expect(await Promise.all(asked)).toEqual([
      { ok: true, value: 1 },
      { ok: true, value: 2 },
      { ok: false, error: { code: "mailbox_full", message: 'small did not take "count": its mailbox is full' } },
    ]);
    expect(refused).toEqual([{ actor: "small", type: "count", count: 1 }]);
  });

  test("in actor_dead once it has been stopped, also for what waits", async () => {
    const { system } = newSystem();
    const reference = system.spawnLocal<BoomMessage, BoomReplies>("gone", { create: createBoom });
    const waiting = reference.ask({ type: "count" }, DEADLINE);
    await system.stop(100);
    expect(await waiting).toMatchObject({ ok: false, error: { code: "actor_dead" } });
    expect(reference.tell({ type: "count" })).toEqual({
      code: "actor_dead",
      message: 'gone did not take "count": it is not running',
    });
  });

  test("answered questions share one timer, which is gone when their deadline has passed", async () => {
    const { clock, system } = newSystem();
    const reference = system.spawnLocal<BoomMessage, BoomReplies>("quick", { create: createBoom });
    for (let asked = 0; asked < 10; asked++) await reference.ask({ type: "count" }, DEADLINE);
    expect(clock.pending).toBe(1);
    clock.advance(DEADLINE.deadlineMs);
    expect(clock.pending).toBe(0);
  });
});

describe("supervision", () => {
  test("a restarted actor begins a new life after 1 s, 2 s, 4 s, and refuses meanwhile", async () => {
    const { clock, system, failures } = newSystem();
    const reference = system.spawnLocal<BoomMessage, BoomReplies>("boom", { create: createBoom });
    expect(await reference.ask({ type: "count" }, DEADLINE)).toEqual({ ok: true, value: 1 });
    for (const waitMs of [1_000, 2_000, 4_000]) {
      expect(await reference.ask({ type: "boom" }, DEADLINE)).toEqual({
        ok: false,
        error: { code: "failed", message: 'boom could not handle "boom": boom, as told' },
      });
      clock.advance(waitMs - 1);
      expect(reference.tell({ type: "count" })?.code).toBe("actor_dead");
      clock.advance(1);
      expect(await reference.ask({ type: "count" }, DEADLINE)).toEqual({ ok: true, value: 1 });
    }
    expect(failures).toEqual([1_000, 2_000, 4_000].map((retryMs) => ({ reason: "boom, as told", retryMs })));
  });

  test("a life longer than the longest back-off starts the count anew", async () => {
    const { clock, system, failures } = newSystem();
    const reference = system.spawnLocal<BoomMessage, BoomReplies>("boom", { create: createBoom });
    for (const livedMs of [0, 60_001, 0, 60_000]) {
      await turns();
      clock.advance(livedMs);
      reference.tell({ type: "boom" });
      await turns();
      clock.advance(failures.at(-1)?.retryMs ?? 0);
    }
    expect(failures.map(({ retryMs }) => retryMs)).toEqual([1_000, 1_000, 2_000, 4_000]);
  });

  test("what waited behind a failing message is told that the actor is gone", async () => {
    const { system } = newSystem();
    const reference = system.spawnLocal<BoomMessage, BoomReplies>("boom", { create: createBoom });
    const failing = reference.ask({ type: "boom" }, DEADLINE);
    const behind = reference.ask({ type: "count" }, DEADLINE);
    expect(await failing).toMatchObject({ error: { code: "failed" } });
    expect(await behind).toMatchObject({ error: { code: "actor_dead" } });
  });

  test("a resumed actor keeps its state and goes on with the next message", async () => {
    const { system, failures } = newSystem();
    const reference = system.spawnLocal<BoomMessage, BoomReplies>(
      "boom",
      { create: createBoom },
      { onFailure: "resume" },
    );
    const answers = await Promise.all([
      reference.ask({ type: "count" }, DEADLINE),
      reference.ask({ type: "boom" }, DEADLINE),
      reference.ask({ type: "count" }, DEADLINE),
    ]);
    expect(answers.map((answer) => (answer.ok ? answer.value : answer.error.code))).toEqual([1, "failed", 2]);
    expect(failures).toEqual([{ reason: "boom, as told", retryMs: null }]);
  });

  test("an actor that cannot be made is tried again with back-off", async () => {
    const { clock, system, failures } = newSystem();
    let attempts = 0;
    const reference = system.spawnLocal<BoomMessage, BoomReplies>("late", {
      create: () => {
        if (++attempts < 3) throw new Error("not yet");
        return createBoom();
      },
    });
    clock.advance(1_000);
    clock.advance(2_000);
    expect(await reference.ask({ type: "count" }, DEADLINE)).toEqual({ ok: true, value: 1 });
    expect(failures.map(({ retryMs }) => retryMs)).toEqual([1_000, 2_000]);
  });

  test("stop passes before what waits and releases what the actor holds", async () => {
    const { system } = newSystem();
    const seen: string[] = [];
    const reference = system.spawnLocal<{ type: "m" }>("holder", {
      create: () => ({ receive: () => void seen.push("m"), stopped: () => void seen.push("stopped") }),
    });
    reference.tell({ type: "m" });
    await system.stop(100);
    await turns();
    expect(seen).toEqual(["stopped"]);
  });
});
