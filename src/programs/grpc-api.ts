import type { GrpcServer } from "../actors/api/grpc/server.ts";
import type { Access } from "../actors/api/http-server.ts";
import type { Log } from "../actors/kernel/actor.ts";
import type { PlacementClient } from "../actors/placement/client.ts";
import type { Clock } from "../ports/clock.ts";
import type { Directories } from "./directories.ts";
import type { SchedulerSettings } from "./scheduler-settings.ts";

export interface GrpcApiParts {
  readonly settings: SchedulerSettings;
  readonly placement: PlacementClient;
  readonly directories: Directories;
  readonly access: Access;
  readonly clock: Clock;
  readonly log: Log;
}

/** The gRPC server on the same actors as the HTTP API. Its libraries are loaded only where it is served. */
export async function createGrpcApi({ settings, directories, ...parts }: GrpcApiParts): Promise<GrpcServer> {
  const { createGrpcServer } = await import("../actors/api/grpc/server.ts");
  const { artifactLookupNodeLimit } = settings;
  return createGrpcServer({ ...parts, ...directories, artifactLookupNodeLimit });
}
