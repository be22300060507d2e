import { expect, test } from "vitest";
import { ActorSystem } from "../../../src/actors/kernel/system.ts";
import { resourceCache } from "../../../src/actors/resource-cache/actor.ts";
import { type ConductorMessage, conductor, type Seat } from "../../../src/actors/sampler/conductor.ts";
import type { CacheMessage, Published } from "../../../src/messages/resource.ts";
import { type Observation, type Sample, SOURCES, type Source } from "../../../src/messages/sampling.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { fakeClock, turns } from "../../fakes/clock.ts";
import { recordingLog } from "../../fakes/log.ts";

const INTERVAL_MS = 1_000;

/** A conductor and a cache over samplers that answer when the test says so. */
function startSampling() {
  const clock = fakeClock();
  const system = new ActorSystem({ clock, random: seededRandom(1), logFor: () => recordingLog() });
  const published: Published[] = [];
  const subscriber = {
    tell(message: Published) {
      published.push(message);
      return null;
    },
  };
  const cache = system.spawnLocal<CacheMessage>("cache", resourceCache([subscriber]));
  let tick = 0;
  const sampler = {
    tell(sample: Sample) {
      tick = sample.tick;
      return null;
    },
  };
  const seats: Seat[] = SOURCES.map((source) => ({ source, sampler, place: "samplers" }));
  const threads = { busyWith: () => null, move: () => undefined };
  const conducting = system.spawnLocal<ConductorMessage>(
    "conductor",
    conductor({ seats, threads, cache, intervalMs: INTERVAL_MS, firstRefreshMs: INTERVAL_MS }),
  );
  return {
    published,
    async nextTick() {
      clock.advance(tick === 0 ? 0 : INTERVAL_MS);
      await turns();
    },
    async observe(source: Source, ofTick = tick) {
      conducting.tell(observation(source, ofTick));
      await turns();
    },
    get refreshes() {
      return published.at(-1)?.refreshes ?? 0;
    },
  };
}

function observation(source: Source, tick: number): Observation {
  const about = { type: "observed", tick, failed: false, readings: [], durationMs: 1 } as const;
  return source === "capacity"
    ? { ...about, source, cpuMillicores: 1000, memoryBytes: 2n ** 30n }
    : { ...about, source, ratio: 0.5 };
}

test("a tick is one refresh, however often the cache publishes", async () => {
  const sampling = startSampling();
  for (let tick = 1; tick <= 3; tick++) {
    await sampling.nextTick();
    for (const source of SOURCES) {
      expect(sampling.refreshes).toBe(tick - 1);
      await sampling.observe(source);
    }
    expect(sampling.refreshes).toBe(tick);
  }
  expect(sampling.published.length).toBeGreaterThanOrEqual(3 * SOURCES.length);
});

test("a source that does not answer ends the refresh at the next tick, as unknown", async () => {
  const sampling = startSampling();
  await sampling.nextTick();
  for (const source of SOURCES) if (source !== "disk") await sampling.observe(source);
  expect(sampling.refreshes).toBe(0);
  await sampling.nextTick();
  expect(sampling.refreshes).toBe(1);
  expect(sampling.published.at(-1)?.snapshot.utilization).toMatchObject({ disk: null, memory: 0.5 });
  // Its late answer belongs to a refresh that is over.
  await sampling.observe("disk", 1);
  expect(sampling.refreshes).toBe(1);
});
