/** P2P artifacts: who holds one, and who of those can be reached. */
import type {
  LookupP2pArtifactRequest,
  SchedulerService,
} from "../../../messages/proto/generated/scheduler/v1/scheduler.ts";
import type { ArtifactKey, ArtifactsReference } from "../../directory/artifacts/client.ts";
import type { PeersQuery, PeersReference } from "../../directory/p2p/client.ts";
import { refusalOf } from "../../placement/client.ts";
import { DIRECTORY_DEADLINE_MS } from "../sandbox-look-up.ts";
import { identifier, namedText } from "./border.ts";
import type { Handled, HandlersOf } from "./unary.ts";

export interface PeerActors {
  readonly peers: PeersReference;
  readonly artifacts: ArtifactsReference;
  /** Nodes that one look-up returns at most. */
  readonly artifactLookupNodeLimit: number;
}

type ArtifactCalls = "listP2PPeers" | "recordP2PArtifact" | "forgetP2PArtifact" | "lookupP2PArtifact";

const NAME_LENGTH_MAX = 256;
/** Longer than any digest, path or URL of an image layer; a million of them are kept. */
const KEY_LENGTH_MAX = 1024;
const IN_TIME = { deadlineMs: DIRECTORY_DEADLINE_MS } as const;

export function createArtifactHandlers({
  peers,
  artifacts,
  artifactLookupNodeLimit,
}: PeerActors): Pick<HandlersOf<SchedulerService>, ArtifactCalls> {
  const find = async (query: PeersQuery): Promise<Handled<{ peers: WirePeer[] }>> => {
    const found = await peers.ask({ type: "find_peers", query }, IN_TIME);
    if (!found.ok) return { ok: false, refusal: refusalOf(found.error) };
    return { ok: true, answer: { peers: [...found.value.peers] } };
  };
  return {
    async listP2PPeers({ clusterId, backend, excludeNodeId }) {
      return find({ clusterId, backend, excludeNodeId, among: null, limit: null });
    },
    async recordP2PArtifact(request) {
      const nodeId = identifier(request.nodeId, "node_id");
      const recorded = await artifacts.ask({ type: "record_artifact", artifact: artifactOf(request), nodeId }, IN_TIME);
      return recorded.ok ? { ok: true, answer: {} } : { ok: false, refusal: refusalOf(recorded.error) };
    },
    async forgetP2PArtifact(request) {
      const nodeId = identifier(request.nodeId, "node_id");
      const forgotten = await artifacts.ask(
        { type: "forget_artifact", artifact: artifactOf(request), nodeId },
        IN_TIME,
      );
      return forgotten.ok ? { ok: true, answer: {} } : { ok: false, refusal: refusalOf(forgotten.error) };
    },
    async lookupP2PArtifact(request) {
      const artifact = artifactOf(request);
      const held = await artifacts.ask({ type: "lookup_artifact", artifact }, IN_TIME);
      if (!held.ok) return { ok: false, refusal: refusalOf(held.error) };
      const { clusterId, backend, excludeNodeId } = request;
      const among = held.value.nodeIds;
      return find({ clusterId, backend, excludeNodeId, among, limit: artifactLookupNodeLimit });
    },
  };
}

interface WirePeer {
  readonly nodeId: string;
  readonly endpoint: { readonly backend: string; readonly address: string };
}

function artifactOf(request: Pick<LookupP2pArtifactRequest, "clusterId" | "backend" | "key">): ArtifactKey {
  return {
    clusterId: namedText(request.clusterId, "cluster_id", NAME_LENGTH_MAX),
    backend: namedText(request.backend, "backend", NAME_LENGTH_MAX),
    key: namedText(request.key, "key", KEY_LENGTH_MAX),
  };
}
