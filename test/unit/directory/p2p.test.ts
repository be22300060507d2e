import { expect, test } from "vitest";
import type { PeerReport, PeersQuery } from "../../../src/actors/directory/p2p/client.ts";
import { Peers } from "../../../src/actors/directory/p2p/state.ts";

function report(nodeId: string, more: Partial<PeerReport> = {}): PeerReport {
  return { nodeId, clusterId: "c", endpoint: { backend: "tcp", address: `${nodeId}:1` }, ready: true, ...more };
}
const ANYBODY: PeersQuery = { clusterId: "", backend: "", excludeNodeId: "", among: null, limit: null };
function idsOf(peers: Peers, query: Partial<PeersQuery> = {}, nowMs = 0): string[] {
  return peers.find({ ...ANYBODY, ...query }, nowMs).map(({ nodeId }) => nodeId);
}

function threePeers(): Peers {
  const peers = new Peers({ reportTtlMs: 30_000 });
  peers.onReport(report("b"), 0);
  peers.onReport(report("a", { clusterId: "d" }), 0);
  peers.onReport(report("c", { endpoint: { backend: "rdma", address: "c:2" } }), 0);
  return peers;
}

test("all peers by id, or those of a cluster or a backend, without one", () => {
  const peers = threePeers();
  expect(idsOf(peers)).toEqual(["a", "b", "c"]);
  expect(idsOf(peers, { clusterId: "c" })).toEqual(["b", "c"]);
  expect(idsOf(peers, { backend: "tcp" })).toEqual(["a", "b"]);
  expect(idsOf(peers, { clusterId: "c", backend: "tcp" })).toEqual(["b"]);
  expect(idsOf(peers, { excludeNodeId: "b" })).toEqual(["a", "c"]);
});

test("among some, in their order, up to a limit that counts those that are returned", () => {
  const peers = threePeers();
  expect(idsOf(peers, { among: ["c", "stranger", "b", "a"] })).toEqual(["c", "b", "a"]);
  expect(idsOf(peers, { among: ["stranger", "c", "b", "a"], backend: "tcp", limit: 1 })).toEqual(["b"]);
});

test("a peer is one for report_ttl after it was heard, not longer", () => {
  const peers = threePeers();
  peers.onReport(report("b"), 1_000);
  expect(idsOf(peers, {}, 30_000)).toEqual(["a", "b", "c"]);
  expect(idsOf(peers, {}, 30_001)).toEqual(["b"]);
  expect(idsOf(peers, {}, 31_001)).toEqual([]);
});

test("one that is not ready, offers nothing or goes is none; a new address takes the place of the old", () => {
  const peers = threePeers();
  peers.onReport(report("a", { ready: false }), 0);
  peers.onReport(report("b", { endpoint: null }), 0);
  expect(idsOf(peers)).toEqual(["c"]);
  peers.onReport(report("c", { endpoint: { backend: "tcp", address: "c:3" } }), 0);
  expect(peers.find(ANYBODY, 0)).toEqual([{ nodeId: "c", endpoint: { backend: "tcp", address: "c:3" } }]);
  peers.onNodeGone("c");
  expect(idsOf(peers)).toEqual([]);
});
