import { EventEmitter } from "eventemitter3";
import type { Access, HttpApi } from "../actors/api/http-server.ts";
import { createMetrics } from "../actors/api/metrics.ts";
import type { Log } from "../actors/kernel/actor.ts";
import type { ActorSystem } from "../actors/kernel/system.ts";
import { placementActor } from "../actors/placement/actor.ts";
import { logChanges } from "../actors/placement/change-log.ts";
import {
  createPlacementClient,
  type PlacementActorMessage,
  type PlacementClient,
  type PlacementEvents,
  type PlacementReplies,
} from "../actors/placement/client.ts";
import type { EventLog } from "../actors/placement/event-log.ts";
import { servePlacement } from "../actors/placement/served-placement.ts";
import { type Clock, systemClock } from "../ports/clock.ts";
import { openAccess } from "./access.ts";
import { createActorSystem } from "./actor-system.ts";
import { formatAddress, type HostAndPort, isLoopback } from "./address.ts";
import { type Directories, startDirectories } from "./directories.ts";
import { openEventLog } from "./event-log.ts";
import { createGrpcApi } from "./grpc-api.ts";
import { createHttpApi } from "./http-api.ts";
import { leave, untilStopped } from "./leaving.ts";
import { describeListenError } from "./listen-error.ts";
import { createLogger } from "./logging.ts";
import { placementConfigOf, type SchedulerSettings } from "./scheduler-settings.ts";

/** Together below the 5 s within which a process that was told to stop is gone. */
const ANSWER_GRACE_MS = 2_500;
const STOP_DEADLINE_MS = 1_500;

/** Runs the scheduler until it is told to stop. Returns the exit code. */
export async function runScheduler(settings: SchedulerSettings): Promise<number> {
  const stopped = untilStopped();
  const log = await createLogger(settings);
  const system = createActorSystem(log);
  const clock = systemClock;
  // First: a wrong file of tokens must not leave a trace in the state directory.
  const access = openAccess(settings, { clock, log });
  const opened = await openEventLog(system, settings.stateDir, log);
  if ("refusal" in opened) {
    process.stderr.write(`evenkeel: ${opened.refusal}\n`);
    return leave({ system, log, code: 1, deadlineMs: STOP_DEADLINE_MS });
  }
  const { eventLog } = opened;
  const { http, ...parts } = startScheduler({ system, settings, access, log, clock, eventLog });
  const grpc = settings.grpc === null ? null : await createGrpcApi({ settings, access, ...parts, clock, log });
  if (settings.unservedKeys.length > 0) {
    const keys = settings.unservedKeys.join(", ");
    log.warn({ keys: settings.unservedKeys }, `the configuration file has keys that are not served: ${keys}`);
  }
  const refusal =
    (await tryToServe("HTTP", http, settings.http, { settings, log })) ??
    (grpc === null || settings.grpc === null ? null : await tryToServe("gRPC", grpc, settings.grpc, { settings, log }));
  if (refusal !== null) {
    process.stderr.write(`evenkeel: ${refusal}\n`);
    return leave({ system, log, code: 1, deadlineMs: STOP_DEADLINE_MS });
  }
  const signal = await stopped;
  log.info({ signal }, `stopping on ${signal}`);
  await Promise.all([http.close(ANSWER_GRACE_MS), grpc?.close(ANSWER_GRACE_MS)]);
  return leave({ system, log, code: 0, deadlineMs: STOP_DEADLINE_MS });
}

interface Listener {
  listen(address: HostAndPort): Promise<HostAndPort>;
}

/** Null when it serves, else why it cannot. */
async function tryToServe(
  api: "HTTP" | "gRPC",
  listener: Listener,
  address: HostAndPort,
  { settings, log }: { readonly settings: SchedulerSettings; readonly log: Log },
): Promise<string | null> {
  const key = api === "HTTP" ? "http" : "grpc";
  let at: string;
  try {
    const bound = formatAddress(await listener.listen(address));
    at = api === "gRPC" ? bound : `${settings.tlsCert === null ? "http" : "https"}://${bound}`;
  } catch (thrown) {
    return describeListenError(thrown, address, `--${key}`);
  }
  if (!isLoopback(address) && settings.tokens === null) {
    log.warn({ [key]: at }, `the ${api} API is open to other machines and asks nobody who they are`);
  }
  log.info({ [key]: at }, `serving the ${api} API on ${at}`);
  return null;
}

export interface SchedulerWiring {
  readonly system: ActorSystem;
  readonly settings: SchedulerSettings;
  /** Of the gRPC server too. */
  readonly access: Access;
  readonly log: Log;
  readonly clock: Clock;
  readonly eventLog: EventLog;
}

export interface RunningScheduler {
  readonly http: HttpApi;
  readonly placement: PlacementClient;
  readonly directories: Directories;
}

/** Wires the scheduler's actors into a system: HTTP ⇄ placement → directory. Nothing listens yet. */
export function startScheduler({ system, settings, access, log, clock, eventLog }: SchedulerWiring): RunningScheduler {
  const config = placementConfigOf(settings);
  const directories = startDirectories(system, {
    settings,
    // No answer hangs on what rosters and time make of assignments: the next rosters say it again.
    journal: eventLog.read === null ? null : (changes) => eventLog.note(changes.map((assignment) => ({ assignment }))),
  });
  const { directory, directoryEvents } = directories;
  const placementEvents = new EventEmitter<PlacementEvents>();
  const reference = system.spawnLocal<PlacementActorMessage, PlacementReplies>(
    "placement",
    placementActor({
      config,
      log: eventLog,
      directory,
      events: placementEvents,
      waitingMax: settings.mailboxCapacity,
    }),
    // Its state cannot be had again from nothing: a message that fails costs that message only.
    { onFailure: "resume", mailboxCapacity: settings.mailboxCapacity },
  );
  logChanges(placementEvents, log);
  const placement = createPlacementClient(reference, clock);
  const sources = { strategy: settings.strategy, placement, placementEvents, directoryEvents, system };
  const metrics = settings.noMetrics ? null : createMetrics(sources);
  const servedPlacement = servePlacement(reference, placement.events, clock);
  const http = createHttpApi({ system, settings, access, log, clock, placement, servedPlacement, directory, metrics });
  return { http, placement, directories };
}
