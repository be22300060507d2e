/**
 * Which nodes share artifacts, and where. Pure. A node is a peer while it says READY, offers an endpoint, and has not
 * been silent for longer than `reportTtlMs`.
 */
import type { Peer, PeerReport, PeersQuery } from "./client.ts";

export interface PeersConfig {
  readonly reportTtlMs: number;
}

interface KnownPeer extends Peer {
  readonly clusterId: string;
  readonly heardAtMs: number;
}

export class Peers {
  readonly #config: PeersConfig;
  readonly #peers = new Map<string, KnownPeer>();

  constructor(config: PeersConfig) {
    this.#config = config;
  }

  onReport({ nodeId, clusterId, endpoint, ready }: PeerReport, nowMs: number): void {
    if (endpoint === null || !ready) this.#peers.delete(nodeId);
    else this.#peers.set(nodeId, { nodeId, clusterId, endpoint, heardAtMs: nowMs });
  }

  onNodeGone(nodeId: string): void {
    this.#peers.delete(nodeId);
  }

  find(query: PeersQuery, nowMs: number): Peer[] {
    const found: Peer[] = [];
    for (const nodeId of query.among ?? [...this.#peers.keys()].sort()) {
      if (found.length === query.limit) break;
      const peer = this.#peers.get(nodeId);
      if (peer !== undefined && this.#answers(peer, query, nowMs)) found.push({ nodeId, endpoint: peer.endpoint });
    }
    return found;
  }

  #answers(peer: KnownPeer, { clusterId, backend, excludeNodeId }: PeersQuery, nowMs: number): boolean {
    return (
      peer.nodeId !== excludeNodeId &&
      (clusterId === "" || peer.clusterId === clusterId) &&
      (backend === "" || peer.endpoint.backend === backend) &&
      nowMs - peer.heardAtMs <= this.#config.reportTtlMs
    );
  }
}
