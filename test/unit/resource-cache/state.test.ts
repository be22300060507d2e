import { describe, expect, test } from "vitest";
import { type CacheState, initialState, observe, serialise } from "../../../src/actors/resource-cache/state.ts";
import type { CacheMessage } from "../../../src/messages/resource.ts";
import type { Metric } from "../../../src/messages/sampling.ts";

const GIB = 2n ** 30n;
const metric = (source: Metric, ratio: number | null, more: object = {}): CacheMessage => ({
  type: "observed",
  source,
  tick: 1,
  ratio,
  failed: false,
  readings: [],
  durationMs: 2,
  ...more,
});
const capacity = (cpuMillicores: number | null, memoryBytes: bigint | null): CacheMessage => ({
  type: "observed",
  source: "capacity",
  tick: 1,
  cpuMillicores,
  memoryBytes,
  failed: cpuMillicores === null || memoryBytes === null,
  readings: [],
  durationMs: 2,
});
const stateOf = (...messages: CacheMessage[]): CacheState =>
  messages.reduce((state, message, position) => observe(state, message, position), initialState());
const answer = (state: CacheState) => JSON.parse(serialise(state.snapshot));

describe("utilization", () => {
  test("has all five keys, null before anything is known", () => {
    expect(answer(initialState()).utilization).toEqual({ cpu: null, memory: null, pid: null, fd: null, disk: null });
  });

  test("keeps zero and null apart", () => {
    const state = stateOf(metric("cpu", 0), metric("memory", 0.5), metric("memory", null));
    expect(answer(state).utilization).toMatchObject({ cpu: 0, memory: null });
  });

  test("a missed tick makes its own key null and no other", () => {
    const state = stateOf(metric("cpu", 0.25), metric("disk", 0.5), {
      type: "missed",
      source: "disk",
      tick: 2,
    });
    expect(answer(state).utilization).toMatchObject({ cpu: 0.25, disk: null });
    expect(state.sources.disk).toEqual({ source: "disk", outcome: "missed", sampledAtMs: 1, durationMs: 2 });
  });
});

describe("capacity", () => {
  test("is 0 before the first good reading, and that is no refresh", () => {
    const state = stateOf(capacity(null, null));
    expect(answer(state)).toMatchObject({ cpu: 0, mem: 0 });
    expect(state.capacityAtMs).toBe(null);
  });

  test("is rounded down to whole cores and whole GiB", () => {
    expect(answer(stateOf(capacity(3_999, 64n * GIB - 1n)))).toMatchObject({ cpu: 3, mem: Number(63n * GIB) });
  });

  test("below one GiB stays exact", () => {
    expect(answer(stateOf(capacity(500, GIB - 1n)))).toMatchObject({ cpu: 0, mem: Number(GIB - 1n) });
  });

  test("a failed reading keeps the last good value of each figure", () => {
    const state = stateOf(capacity(2_000, 4n * GIB), capacity(null, 8n * GIB), capacity(1_000, null));
    expect(answer(state)).toMatchObject({ cpu: 1, mem: Number(8n * GIB) });
    expect(state.capacityAtMs).toBe(0); // only the first read both
  });

  test("a missed tick keeps it", () => {
    const state = stateOf(capacity(2_000, GIB), { type: "missed", source: "capacity", tick: 2 });
    expect(answer(state)).toMatchObject({ cpu: 2, mem: Number(GIB) });
  });
});

describe("storage", () => {
  test("is absent without a filestore, and so is its feature", () => {
    const body = answer(stateOf(metric("disk", null)));
    expect("storage" in body).toBe(false);
    expect(body.features).toEqual([]);
  });

  test("comes with its feature", () => {
    const body = answer(stateOf(metric("disk", 0.75, { storageBytes: 17_179_869_184n })));
    expect(body).toMatchObject({ storage: 17_179_869_184, features: ["storage-quota-v1"] });
  });

  test("keeps its last good value when a statfs failed, while disk turns null", () => {
    const state = stateOf(metric("disk", 0.75, { storageBytes: 5n }), metric("disk", null, { storageBytes: null }));
    expect(answer(state)).toMatchObject({ storage: 5, utilization: { disk: null } });
  });
});

test("the answer is the documented JSON, key by key", () => {
  const state = stateOf(
    capacity(32_000, 64n * GIB),
    metric("cpu", 0.92),
    metric("memory", 0.87),
    metric("pid", 0.88),
    metric("fd", 0.22),
    metric("disk", 0.75, { storageBytes: 17_179_869_184n }),
  );
  expect(serialise(state.snapshot)).toBe(
    '{"cpu":32,"mem":68719476736,"xpu":[],"storage":17179869184,"features":["storage-quota-v1"],' +
      '"utilization":{"cpu":0.92,"memory":0.87,"pid":0.88,"fd":0.22,"disk":0.75}}',
  );
});

test("integers beyond 2^53 are written digit by digit", () => {
  const state = stateOf(capacity(1_000, 2n ** 60n), metric("disk", 0, { storageBytes: 2n ** 62n + 1n }));
  expect(serialise(state.snapshot)).toContain(`"mem":${2n ** 60n},"xpu":[],"storage":4611686018427387905,`);
});

test("each source tells its outcome: a value, none, a failure, a miss", () => {
  const state = stateOf(
    metric("cpu", 0),
    metric("pid", null),
    metric("fd", null, { failed: true }),
    capacity(1_000, GIB),
  );
  const outcomes = Object.values(state.sources).map(({ source, outcome }) => `${source} ${outcome}`);
  expect(outcomes).toEqual(["cpu ok", "memory missed", "pid none", "fd failed", "disk missed", "capacity ok"]);
});
