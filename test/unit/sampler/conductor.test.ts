import { describe, expect, test } from "vitest";
import { ActorSystem } from "../../../src/actors/kernel/system.ts";
import {
  type ConductorMessage,
  type ConductorReplies,
  conductor,
  untilNextBeatMs,
} from "../../../src/actors/sampler/conductor.ts";
import type { CacheMessage } from "../../../src/messages/resource.ts";
import type { MetricObservation, Sample, Source } from "../../../src/messages/sampling.ts";
import { systemRandom } from "../../../src/ports/random.ts";
import { fakeClock, turns } from "../../fakes/clock.ts";
import { recordingLog } from "../../fakes/log.ts";

const observed = (source: "cpu" | "disk" | "pid", tick: number): MetricObservation => ({
  type: "observed",
  source,
  tick,
  ratio: 0.5,
  failed: false,
  readings: [],
  durationMs: 1,
});

/** The real conductor on a clock that the test steps; the test plays the samplers' threads. */
function begin({ intervalMs = 1_000, firstRefreshMs = 1_000 } = {}) {
  const clock = fakeClock();
  const log = recordingLog();
  const system = new ActorSystem({ clock, random: systemRandom, logFor: () => log });
  const asked: string[] = [];
  const moves: string[] = [];
  const toCache: CacheMessage[] = [];
  const busy = new Map<string, Source>();
  const sampler = (source: Source) => ({
    tell: ({ tick }: Sample) => {
      asked.push(`${source} ${tick}`);
      return null;
    },
  });
  const reference = system.spawnLocal<ConductorMessage, ConductorReplies>(
    "conductor",
    conductor({
      seats: [
        { source: "cpu", sampler: sampler("cpu"), place: "samplers" },
        { source: "pid", sampler: sampler("pid"), place: "samplers" },
        { source: "disk", sampler: sampler("disk"), place: "filestore" },
      ],
      threads: {
        busyWith: (place) => busy.get(place) ?? null,
        move: (source, place) => void moves.push(`${source} to ${place}`),
      },
      cache: {
        tell: (message) => {
          toCache.push(message);
          return null;
        },
      },
      intervalMs,
      firstRefreshMs,
    }),
  );
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await turns();
  };
  const missed = (): string[] =>
    toCache.flatMap((message) => (message.type === "missed" ? [`${message.source} ${message.tick}`] : []));
  return { reference, pass, asked, moves, toCache, missed, busy, log };
}

test("asks every sampler for one sample at once and again at each interval", async () => {
  const { pass, asked } = begin();
  await pass(0);
  await pass(1_000);
  expect(asked).toEqual(["cpu 1", "pid 1", "disk 1", "cpu 2", "pid 2", "disk 2"]);
});

test("hands what samplers observe to the cache as it is", async () => {
  const { reference, pass, toCache } = begin();
  await pass(0);
  reference.tell(observed("cpu", 1));
  await turns();
  expect(toCache).toEqual([observed("cpu", 1)]);
});

describe("a sampler that does not answer by the next tick", () => {
  test("is missed for each tick and logged once, until it is heard again", async () => {
    const { reference, pass, missed, log } = begin();
    await pass(0);
    reference.tell(observed("disk", 1));
    for (const tick of [1, 2, 3, 4]) {
      reference.tell(observed("cpu", tick));
      reference.tell(observed("pid", tick));
      await pass(1_000);
    }
    expect(missed()).toEqual(["disk 2", "disk 3", "disk 4"]);
    expect(log.lines.map(({ level }) => level)).toEqual(["warn"]);
    reference.tell(observed("disk", 2)); // its late answer
    await turns();
    expect(log.lines.map(({ level }) => level)).toEqual(["warn", "info"]);
  });

  test("is no news in the first 5 s, while its thread may still be loading", async () => {
    const { reference, pass, missed, log } = begin();
    await pass(0);
    for (const tick of [1, 2, 3, 4]) {
      reference.tell(observed("cpu", tick));
      reference.tell(observed("pid", tick));
      await pass(1_000);
    }
    expect(missed()).toEqual(["disk 1", "disk 2", "disk 3", "disk 4"]);
    expect(log.lines).toEqual([]);
    await pass(1_000);
    expect(log.lines.filter(({ text }) => text.startsWith("disk")).map(({ level }) => level)).toEqual(["warn"]);
  });

  test("has its late answer used", async () => {
    const { reference, pass, toCache } = begin();
    await pass(0);
    await pass(1_000);
    reference.tell(observed("disk", 1));
    await turns();
    expect(toCache.at(-1)).toEqual(observed("disk", 1));
  });

  test("is not taken for silent again in the tick in which it came back", async () => {
    const { reference, pass, missed, log } = begin();
    const others = (tick: number): void => {
      for (const source of ["cpu", "pid"] as const) reference.tell(observed(source, tick));
    };
    await pass(0);
    reference.tell(observed("disk", 1));
    others(1);
    await pass(1_000);
    others(2);
    await pass(1_000); // the disk's sample 2 is missed; sample 3 is refused by its full mailbox
    reference.tell(observed("disk", 2));
    others(3);
    await pass(1_000);
    expect(missed()).toEqual(["disk 2"]);
    expect(log.lines.map(({ level }) => level)).toEqual(["warn", "info"]);
  });

  test("loses its neighbours to a fresh thread and keeps its own", async () => {
    const { reference, pass, moves, busy } = begin();
    await pass(0);
    busy.set("samplers", "pid");
    reference.tell(observed("cpu", 1));
    reference.tell(observed("disk", 1));
    await pass(1_000);
    expect(moves).toEqual(["cpu to samplers-2"]);
    for (const tick of [2, 3]) {
      reference.tell(observed("cpu", tick));
      reference.tell(observed("disk", tick));
      await pass(1_000);
    }
    expect(moves).toEqual(["cpu to samplers-2"]); // it sits there alone now: no thread piles up
  });

  test("is left by the slow source that its sample was queued behind, though the stuck one itself has moved away", async () => {
    const { reference, pass, moves, busy } = begin();
    await pass(0);
    // Slow, not stuck; the sample of pid waits in the same thread behind its own.
    busy.set("samplers", "cpu");
    reference.tell(observed("disk", 1));
    await pass(1_000);
    expect(moves).toEqual(["pid to samplers-2"]);
    reference.tell(observed("cpu", 1));
    reference.tell(observed("pid", 2));
    reference.tell(observed("disk", 2));
    busy.set("samplers", "pid");
    await pass(1_000);
    expect(moves).toEqual(["pid to samplers-2", "cpu to samplers-3"]);
    reference.tell(observed("disk", 3));
    await pass(1_000);
    expect(moves).toEqual(["pid to samplers-2", "cpu to samplers-3"]);
  });

  test("moves nobody when it has its thread to itself", async () => {
    const { reference, pass, moves, busy } = begin();
    await pass(0);
    busy.set("filestore", "disk");
    reference.tell(observed("cpu", 1));
    reference.tell(observed("pid", 1));
    await pass(1_000);
    expect(moves).toEqual([]);
  });

  test("moves nobody when it is at work on this tick's sample only", async () => {
    const { reference, pass, moves, busy } = begin();
    await pass(0);
    for (const source of ["cpu", "pid", "disk"] as const) reference.tell(observed(source, 1));
    busy.set("samplers", "pid");
    await pass(1_000);
    expect(moves).toEqual([]);
  });
});

test("a source that cannot be read is logged with its reason when that begins and when it ends", async () => {
  const { reference, pass, log } = begin();
  const readings = [{ from: "/srv/store", ratio: null, why: "statfs ENOENT" }];
  await pass(0);
  for (const failed of [true, true, false, false]) {
    reference.tell({ ...observed("disk", 1), ratio: failed ? null : 0.5, failed, readings: failed ? readings : [] });
    await turns();
  }
  expect(log.lines.map(({ level, text }) => `${level} ${text}`)).toEqual([
    "warn disk cannot be read in full: /srv/store: statfs ENOENT",
    "info disk can be read again",
  ]);
});

describe("the first refresh", () => {
  test("has finished when every source was heard", async () => {
    const { reference, pass } = begin();
    let finished = false;
    void reference.ask({ type: "first_refresh" }, { deadlineMs: 60_000 }).then(() => {
      finished = true;
    });
    await pass(0);
    for (const source of ["cpu", "pid"] as const) reference.tell(observed(source, 1));
    await turns();
    expect(finished).toBe(false);
    reference.tell(observed("disk", 1));
    await turns();
    expect(finished).toBe(true);
  });

  test("is over at its deadline, when one source hangs", async () => {
    const { reference, pass } = begin({ intervalMs: 5_000, firstRefreshMs: 2_000 });
    const asked = reference.ask({ type: "first_refresh" }, { deadlineMs: 60_000 });
    await pass(2_000);
    expect(await asked).toEqual({ ok: true, value: null });
  });
});

describe("beats", () => {
  test("stay on multiples of the interval when a timer is late", () => {
    expect(untilNextBeatMs(1_003, 1_000)).toBe(997);
  });

  test("are skipped, not made up for, after a stall", () => {
    expect(untilNextBeatMs(7_250, 1_000)).toBe(750);
  });

  test("are not doubled when a timer is early", () => {
    expect(untilNextBeatMs(999.5, 1_000)).toBe(1_000.5);
  });

  test("keep at least half an interval between them", () => {
    for (let elapsedMs = 0; elapsedMs < 3_000; elapsedMs += 0.5) {
      const nextMs = elapsedMs + untilNextBeatMs(elapsedMs, 1_000);
      expect(nextMs % 1_000).toBe(0);
      expect(nextMs - elapsedMs).toBeGreaterThanOrEqual(500);
    }
  });
});
