/**
 * Which nodes share artifacts, and where. Pure. A node is a peer while it says READY, offers an endpoint, and has not
 * been silent for longer than `reportTtlMs`.
 */

export interface PeersConfig {
  readonly reportTtlMs: number;
}

export interface PeerEndpoint {
  readonly backend: string;
  readonly address: string;
}

export interface PeerReport {
  readonly nodeId: string;
  readonly clusterId: string;
  /** Null: it shares nothing. */
  readonly endpoint: PeerEndpoint | null;
  readonly ready: boolean;
}

export interface Peer {
  readonly nodeId: string;
  readonly endpoint: PeerEndpoint;
}

export interface PeersQuery {
  /** Empty: of every cluster. */
  readonly clusterId: string;
  /** Empty: of every backend. */
  readonly backend: string;
  /** Empty: nobody is left out. */
  readonly excludeNodeId: string;
  /** Only these, in this order; null: all, by id. */
  readonly among: readonly string[] | null;
  /** How many at most; null: all. */
  readonly limit: number | null;
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
