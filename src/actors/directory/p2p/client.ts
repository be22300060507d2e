/** All that others use of the peers actor. */
import type { Reference } from "../../kernel/reference.ts";
import type { NodeGone } from "../departures.ts";

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

/** A heartbeat that counted, as far as peers are concerned. */
export interface PeerReported {
  readonly type: "peer_reported";
  readonly report: PeerReport;
}

export interface FindPeers {
  readonly type: "find_peers";
  readonly query: PeersQuery;
}

export type PeersMessage = PeerReported | FindPeers | NodeGone;

export interface PeersAnswer {
  readonly peers: readonly Peer[];
}

export type PeersReplies = { find_peers: PeersAnswer };

export type PeersReference = Reference<PeersMessage, PeersReplies>;
