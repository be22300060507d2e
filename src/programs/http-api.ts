import { createHandlers } from "../actors/api/handlers.ts";
import { type Access, createHttpServer, type HttpApi } from "../actors/api/http-server.ts";
import type { Metrics } from "../actors/api/metrics.ts";
import { startApiThreads } from "../actors/api/threads/client.ts";
import type { DirectoryReference } from "../actors/directory/client.ts";
import type { Log } from "../actors/kernel/actor.ts";
import type { ActorSystem } from "../actors/kernel/system.ts";
import type { PlacementClient } from "../actors/placement/client.ts";
import type { ServedPlacement } from "../actors/placement/served-placement.ts";
import type { Clock } from "../ports/clock.ts";
import { packageVersion } from "./package-version.ts";
import type { SchedulerSettings } from "./scheduler-settings.ts";

export interface HttpApiParts {
  readonly system: ActorSystem;
  readonly settings: SchedulerSettings;
  readonly access: Access;
  readonly log: Log;
  readonly clock: Clock;
  readonly placement: PlacementClient;
  /** The same, for other threads. */
  readonly servedPlacement: ServedPlacement;
  readonly directory: DirectoryReference;
  /** Null: none are kept. */
  readonly metrics: Metrics | null;
}

/** The HTTP API on the scheduler's actors: in this thread, or in as many threads of its own as the settings say. */
export function createHttpApi({ system, settings, servedPlacement, ...parts }: HttpApiParts): HttpApi {
  const { access, placement, directory, metrics, clock, log } = parts;
  const version = packageVersion();
  if (settings.apiThreads === 1) {
    const handlers = createHandlers({ placement, directory });
    return createHttpServer({ handlers, metrics, version, access, clock, log });
  }
  const count = settings.apiThreads;
  log.info({ apiThreads: count }, `${count} threads answer HTTP; placement and gRPC stay in the main thread`);
  return startApiThreads(system, { count, placement: servedPlacement, directory, metrics, access, version, clock });
}
