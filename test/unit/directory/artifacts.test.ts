import { expect, test } from "vitest";
import type { ArtifactKey } from "../../../src/actors/directory/artifacts/client.ts";
import { Artifacts } from "../../../src/actors/directory/artifacts/state.ts";

const named = (key: string): ArtifactKey => ({ clusterId: "c", backend: "tcp", key });

test("holders come most recently recorded first", () => {
  const artifacts = new Artifacts({ storeCapacity: 10 });
  for (const nodeId of ["a", "b", "c", "a"]) artifacts.record(named("k"), nodeId);
  expect(artifacts.lookup(named("k"))).toEqual(["a", "c", "b"]);
  expect(artifacts.lookup(named("other"))).toEqual([]);
});

test("cluster, backend and key make one name, however they are cut", () => {
  const artifacts = new Artifacts({ storeCapacity: 10 });
  artifacts.record({ clusterId: "a", backend: "b", key: "c" }, "n");
  for (const [clusterId, backend, key] of [
    ["ab", "", "c"],
    ["a", "", "bc"],
    ["", "ab", "c"],
  ] as const) {
    expect(artifacts.lookup({ clusterId, backend, key })).toEqual([]);
  }
});

test("the least recently used key goes first; to record and to look up are both use", () => {
  const artifacts = new Artifacts({ storeCapacity: 3 });
  for (const key of ["1", "2", "3"]) artifacts.record(named(key), "n");
  artifacts.lookup(named("1"));
  artifacts.record(named("2"), "m");
  artifacts.record(named("4"), "n");
  expect(artifacts.size).toBe(3);
  expect(artifacts.lookup(named("3"))).toEqual([]);
  expect(artifacts.lookup(named("1"))).toEqual(["n"]);
  expect(artifacts.lookup(named("2"))).toEqual(["m", "n"]);
});

test("a look-up of what is not there keeps nothing", () => {
  const artifacts = new Artifacts({ storeCapacity: 3 });
  artifacts.lookup(named("1"));
  artifacts.forget(named("1"), "n");
  expect(artifacts.size).toBe(0);
});

test("forgetting the last holder forgets the key, and a node that goes is forgotten everywhere", () => {
  const artifacts = new Artifacts({ storeCapacity: 100 });
  for (let key = 0; key < 10; key++) artifacts.record(named(String(key)), "a");
  artifacts.record(named("0"), "b");
  artifacts.forget(named("9"), "a");
  expect(artifacts.size).toBe(9);
  artifacts.onNodeGone("a");
  expect(artifacts.size).toBe(1);
  expect(artifacts.lookup(named("0"))).toEqual(["b"]);
  artifacts.onNodeGone("a");
  expect(artifacts.size).toBe(1);
});

test("a key of many holders keeps the thousand recorded last", () => {
  const artifacts = new Artifacts({ storeCapacity: 1 });
  for (let node = 0; node < 1_001; node++) artifacts.record(named("k"), `n${node}`);
  const holders = artifacts.lookup(named("k"));
  expect(holders).toHaveLength(1_000);
  expect([holders[0], holders[999]]).toEqual(["n1000", "n1"]);
});
