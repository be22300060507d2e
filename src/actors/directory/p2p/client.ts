/** All that others use of the peers actor. */
import type { Reference } from "../../kernel/reference.ts";
import type { NodeGone } from "../departures.ts";
import type { Peer, PeerReport, PeersQuery } from "./state.ts";

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
