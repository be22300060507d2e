import { EventEmitter } from "eventemitter3";
import { directoryActor } from "../actors/directory/actor.ts";
import { artifactsActor } from "../actors/directory/artifacts/actor.ts";
import type { ArtifactsMessage, ArtifactsReference, ArtifactsReplies } from "../actors/directory/artifacts/client.ts";
import type {
  AssignmentChange,
  DirectoryEvents,
  DirectoryMessage,
  DirectoryReference,
  DirectoryReplies,
} from "../actors/directory/client.ts";
import { cpuTemplatesActor } from "../actors/directory/cpu-template/actor.ts";
import type {
  TemplatesMessage,
  TemplatesReference,
  TemplatesReplies,
} from "../actors/directory/cpu-template/client.ts";
import { withDepartures } from "../actors/directory/departures.ts";
import { peersActor } from "../actors/directory/p2p/actor.ts";
import type { PeersMessage, PeersReference, PeersReplies } from "../actors/directory/p2p/client.ts";
import { reportsActor } from "../actors/directory/reported/actor.ts";
import type { ReportsMessage, ReportsReference, ReportsReplies } from "../actors/directory/reported/client.ts";
import type { ActorSystem } from "../actors/kernel/system.ts";
import type { SchedulerSettings } from "./scheduler-settings.ts";

/** What no placement decision reads, each with an actor of its own. */
export interface Directories {
  /** Assignments; nodes that go are told to the others, too. */
  readonly directory: DirectoryReference;
  readonly directoryEvents: EventEmitter<DirectoryEvents>;
  readonly artifacts: ArtifactsReference;
  readonly peers: PeersReference;
  readonly cpuTemplates: TemplatesReference;
  readonly reports: ReportsReference;
}

export interface DirectoriesWiring {
  readonly settings: SchedulerSettings;
  /** Logs assignments; null keeps them in memory only. */
  readonly journal: ((changes: readonly AssignmentChange[]) => void) | null;
}

export function startDirectories(system: ActorSystem, { settings, journal }: DirectoriesWiring): Directories {
  // A message that fails costs that message only: what they know they could have again only from every node.
  const onFailure = { onFailure: "resume" } as const;
  const { bindingTtlMs, reportTtlMs } = settings;
  const directoryEvents = new EventEmitter<DirectoryEvents>();
  const assignments = system.spawnLocal<DirectoryMessage, DirectoryReplies>(
    "directory",
    directoryActor({ config: { bindingTtlMs, reportTtlMs }, events: directoryEvents, journal }),
    onFailure,
  );
  const artifacts = system.spawnLocal<ArtifactsMessage, ArtifactsReplies>(
    "artifacts",
    artifactsActor({ storeCapacity: settings.artifactStoreCapacity }),
    onFailure,
  );
  const peers = system.spawnLocal<PeersMessage, PeersReplies>("p2p-peers", peersActor({ reportTtlMs }), onFailure);
  const cpuTemplates = system.spawnLocal<TemplatesMessage, TemplatesReplies>(
    "cpu-templates",
    cpuTemplatesActor(),
    onFailure,
  );
  const reports = system.spawnLocal<ReportsMessage, ReportsReplies>("node-reports", reportsActor(), onFailure);
  const directory = withDepartures(assignments, [artifacts, peers, cpuTemplates, reports]);
  return { directory, directoryEvents, artifacts, peers, cpuTemplates, reports };
}
