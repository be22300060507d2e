/** All that others use of the artifacts actor. */
import type { Reference } from "../../kernel/reference.ts";
import type { NodeGone } from "../departures.ts";

export interface ArtifactKey {
  readonly clusterId: string;
  readonly backend: string;
  readonly key: string;
}

export interface RecordArtifact {
  readonly type: "record_artifact";
  readonly artifact: ArtifactKey;
  readonly nodeId: string;
}

export interface ForgetArtifact {
  readonly type: "forget_artifact";
  readonly artifact: ArtifactKey;
  readonly nodeId: string;
}

export interface LookupArtifact {
  readonly type: "lookup_artifact";
  readonly artifact: ArtifactKey;
}

export type ArtifactsMessage = RecordArtifact | ForgetArtifact | LookupArtifact | NodeGone;

export interface HoldersAnswer {
  /** Said to hold it, most recently recorded first; whether they live is for others to say. */
  readonly nodeIds: readonly string[];
}

export type ArtifactsReplies = {
  record_artifact: Readonly<Record<string, never>>;
  forget_artifact: Readonly<Record<string, never>>;
  lookup_artifact: HoldersAnswer;
};

export type ArtifactsReference = Reference<ArtifactsMessage, ArtifactsReplies>;
