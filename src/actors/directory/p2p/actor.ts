import type { ActorContext, LocalActor } from "../../kernel/actor.ts";
import type { PeersAnswer, PeersMessage } from "./client.ts";
import { Peers, type PeersConfig } from "./state.ts";

/** Owns who shares artifacts. It is soft: every heartbeat says it again. */
export function peersActor(config: PeersConfig): LocalActor<PeersMessage> {
  return {
    create({ clock }: ActorContext) {
      const peers = new Peers(config);
      return {
        receive(message, answer) {
          switch (message.type) {
            case "peer_reported":
              peers.onReport(message.report, clock.monotonicMs());
              return;
            case "find_peers":
              answer({ peers: peers.find(message.query, clock.monotonicMs()) } satisfies PeersAnswer);
              return;
            case "node_gone":
              peers.onNodeGone(message.nodeId);
              return;
            default:
              message satisfies never;
          }
        },
      };
    },
  };
}
