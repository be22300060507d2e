import type { ActorContext, LocalActor } from "../../kernel/actor.ts";
import type { TemplatesMessage, TemplatesReplies } from "./client.ts";
import { TemplateRounds } from "./state.ts";

/** Owns the CPU templates of the clusters, and who has heard what they have in common. */
export function cpuTemplatesActor(): LocalActor<TemplatesMessage> {
  return {
    create({ log }: ActorContext) {
      const rounds = new TemplateRounds();
      return {
        receive(message, answer) {
          switch (message.type) {
            case "template_reported": {
              const { cpuConfigJson, unreadable } = rounds.onHeartbeat(message.heartbeat);
              if (unreadable.length > 0) {
                const { clusterId } = message.heartbeat;
                const who = unreadable.join(", ");
                log.warn(
                  { clusterId, nodeIds: unreadable },
                  `no CPU template for cluster "${clusterId}": cpu_config_json of ${who} cannot be read`,
                );
              }
              answer({ cpuConfigJson } satisfies TemplatesReplies["template_reported"]);
              return;
            }
            case "node_gone":
              rounds.onNodeGone(message.nodeId);
              return;
            default:
              message satisfies never;
          }
        },
      };
    },
  };
}
