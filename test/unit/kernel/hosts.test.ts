/** What holds for an actor wherever it lives: one suite over both kinds of host. */
import { afterEach, describe, expect, test } from "vitest";
import { moduleUrl } from "../../../src/actors/kernel/module-url.ts";
import { ActorSystem, MAIN_THREAD, type SpawnOptions } from "../../../src/actors/kernel/system.ts";
import { systemClock } from "../../../src/ports/clock.ts";
import { systemRandom } from "../../../src/ports/random.ts";
import { recordingLog } from "../../fakes/log.ts";
import type { SpoilMessage, SpoilReplies } from "./actors/throws-in-drained.ts";
import type { BoomMessage, BoomReplies } from "./actors/throws-on-boom.ts";

const DEADLINE = { deadlineMs: 20_000 };
const QUICK = { firstMs: 1, longestMs: 1 };
const systems: ActorSystem[] = [];

afterEach(async () => {
  for (const system of systems.splice(0)) expect(await system.stop(5_000)).toEqual([]);
});

describe.each([MAIN_THREAD, "worker"])("in thread %s", (place) => {
  function begin<M extends { readonly type: string }, R extends Record<string, unknown>>(
    name: string,
    options: SpawnOptions,
  ) {
    const system = new ActorSystem({ clock: systemClock, random: systemRandom, logFor: () => recordingLog() });
    systems.push(system);
    const failures: string[] = [];
    const lives: number[] = [];
    system.events.on("failed", ({ reason }) => failures.push(reason));
    system.events.on("restarted", (life) => lives.push(life.lives));
    const portable = { module: moduleUrl(import.meta.url, `./actors/${name}`), init: null };
    const actor = system.spawn<M, R>("actor", portable, { place, backoff: QUICK, ...options });
    const restarted = () => new Promise((resolve) => system.events.once("restarted", resolve));
    return { actor, failures, lives, restarted };
  }

  test("nothing reaches a life that has failed", async () => {
    const { actor, restarted } = begin<BoomMessage, BoomReplies>("throws-on-boom", {});
    await actor.ask({ type: "count" }, DEADLINE);
    const again = restarted();
    const answers = await Promise.all([
      actor.ask({ type: "boom" }, DEADLINE),
      actor.ask({ type: "count" }, DEADLINE),
      actor.ask({ type: "count" }, DEADLINE),
    ]);
    expect(answers.map((answer) => (answer.ok ? answer.value : answer.error.code))).toEqual([
      "failed",
      "actor_dead",
      "actor_dead",
    ]);
    await again;
    expect(await actor.ask({ type: "count" }, DEADLINE)).toEqual({ ok: true, value: 1 });
  });

  test("a life that resumes keeps its state and its queue", async () => {
    const { actor, lives } = begin<BoomMessage, BoomReplies>("throws-on-boom", { onFailure: "resume" });
    const answers = await Promise.all([
      actor.ask({ type: "count" }, DEADLINE),
      actor.ask({ type: "boom" }, DEADLINE),
      actor.ask({ type: "count" }, DEADLINE),
    ]);
    expect(answers.map((answer) => (answer.ok ? answer.value : answer.error.code))).toEqual([1, "failed", 2]);
    expect(lives).toEqual([]);
  });

  test("lives are counted from 1, one for each restart", async () => {
    const { actor, lives, restarted } = begin<BoomMessage, BoomReplies>("throws-on-boom", {});
    await actor.ask({ type: "count" }, DEADLINE);
    for (let failure = 0; failure < 2; failure++) {
      const again = restarted();
      await actor.ask({ type: "boom" }, DEADLINE);
      await again;
    }
    expect(lives).toEqual([2, 3]);
  });

  test("a drained that throws is a failure like another", async () => {
    const { actor, failures, restarted } = begin<SpoilMessage, SpoilReplies>("throws-in-drained", {});
    await actor.ask({ type: "count" }, DEADLINE);
    const again = restarted();
    actor.tell({ type: "spoil" });
    await again;
    expect(failures).toEqual(["cannot commit"]);
    expect(await actor.ask({ type: "count" }, DEADLINE)).toEqual({ ok: true, value: 1 });
  });

  test("a drained that throws costs a life that resumes nothing", async () => {
    const { actor, failures } = begin<SpoilMessage, SpoilReplies>("throws-in-drained", { onFailure: "resume" });
    expect(await actor.ask({ type: "count" }, DEADLINE)).toEqual({ ok: true, value: 1 });
    actor.tell({ type: "spoil" });
    await expect.poll(() => failures).toEqual(["cannot commit"]);
    expect(await actor.ask({ type: "count" }, DEADLINE)).toEqual({ ok: true, value: 2 });
  });
});
