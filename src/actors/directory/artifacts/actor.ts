import type { LocalActor } from "../../kernel/actor.ts";
import type { ArtifactsMessage, HoldersAnswer } from "./client.ts";
import { Artifacts, type ArtifactsConfig } from "./state.ts";

/** Owns the index of P2P artifacts. It is a cache: nodes record again what it has lost. */
export function artifactsActor(config: ArtifactsConfig): LocalActor<ArtifactsMessage> {
  return {
    create() {
      const artifacts = new Artifacts(config);
      return {
        receive(message, answer) {
          switch (message.type) {
            case "record_artifact":
              artifacts.record(message.artifact, message.nodeId);
              answer({});
              return;
            case "forget_artifact":
              artifacts.forget(message.artifact, message.nodeId);
              answer({});
              return;
            case "lookup_artifact":
              answer({ nodeIds: artifacts.lookup(message.artifact) } satisfies HoldersAnswer);
              return;
            case "node_gone":
              artifacts.onNodeGone(message.nodeId);
              return;
            default:
              message satisfies never;
          }
        },
      };
    },
  };
}
