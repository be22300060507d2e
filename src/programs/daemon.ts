import { existsSync } from "node:fs";
import { join } from "node:path";
import { moduleUrl } from "../actors/kernel/module-url.ts";
import type { Reference } from "../actors/kernel/reference.ts";
import type { ActorSystem } from "../actors/kernel/system.ts";
import { type ReporterMessage, reporter } from "../actors/reporter/actor.ts";
import type { Subscriber } from "../actors/resource-cache/actor.ts";
import { resourceCache } from "../actors/resource-cache/actor.ts";
import {
  type ResourceServerMessage,
  type ResourceServerReplies,
  resourceServer,
} from "../actors/resource-server/actor.ts";
import { readBootId } from "../actors/sampler/boot-id.ts";
import { type ConductorMessage, type ConductorReplies, conductor, type Seat } from "../actors/sampler/conductor.ts";
import { readOpenFilesLimit } from "../actors/sampler/self-limits.ts";
import type { CacheMessage, Published } from "../messages/resource.ts";
import { type Sample, type SamplerInit, SOURCES, type Source } from "../messages/sampling.ts";
import { type KernelRoots, systemRoots } from "../ports/kernel-roots.ts";
import { createActorSystem } from "./actor-system.ts";
import { openCredentials } from "./credentials.ts";
import type { DaemonSettings } from "./daemon-settings.ts";
import { leave, untilStopped } from "./leaving.ts";
import { createLogger } from "./logging.ts";

/** The first answer waits for the first refresh, at most this long or one interval. */
const FIRST_REFRESH_MOST_MS = 2_000;
/** Listening is a few system calls, and one probe of whoever sits there. */
const LISTEN_DEADLINE_MS = 10_000;
/** A process that was told to stop is gone within 5 s; this leaves time for the rest of the way out. */
const STOP_DEADLINE_MS = 2_500;
/** Answers are in memory: what has not left by then has no reader. */
const CLOSE_DEADLINE_MS = 1_000;

/** Runs the daemon until it is told to stop. Returns the exit code. */
export async function runDaemon(settings: DaemonSettings): Promise<number> {
  const unfit = missingProcfs(settings);
  if (unfit !== null) {
    process.stderr.write(`evenkeel: ${unfit}\n`);
    return 1;
  }
  const stopped = untilStopped();
  const log = await createLogger(settings);
  const system = createActorSystem(log);
  const daemon = startDaemon(system, settings);

  await daemon.firstRefresh;
  const refusal = await daemon.listen();
  if (refusal !== null) {
    process.stderr.write(`evenkeel: ${refusal}\n`);
    return leave({ system, log, code: 1, deadlineMs: STOP_DEADLINE_MS });
  }
  log.info({ socket: settings.socket, nodeId: settings.nodeId }, `serving GET /resource on ${settings.socket}`);
  const signal = await stopped;
  log.info({ signal }, `stopping on ${signal}`);
  await daemon.close();
  return leave({ system, log, code: 0, deadlineMs: STOP_DEADLINE_MS });
}

/** More than a node has consumers. */
const CONNECTIONS_MAX = 1_000;
const CONNECTIONS_LEAST = 16;
/** What the daemon needs of its descriptors for threads, samples and its own reports, with room to spare. */
const DESCRIPTORS_KEPT = 100;

/** Clients must not take the descriptors that sampling needs. */
function connectionsMaxOf(roots: KernelRoots): number {
  const limit = readOpenFilesLimit(roots);
  if (limit.kind !== "found") return CONNECTIONS_MAX;
  return Math.min(CONNECTIONS_MAX, Math.max(CONNECTIONS_LEAST, Number(limit.value) - DESCRIPTORS_KEPT));
}

/** Why there is nothing to sample, in one line; null where there is. */
export function missingProcfs({ proc }: Pick<DaemonSettings, "proc">): string | null {
  if (existsSync(join(proc, "self", "stat")) || existsSync(join(proc, "stat"))) return null;
  return `${proc} is not a Linux procfs; the daemon reads the kernel there and runs on Linux only`;
}

export interface RunningDaemon {
  /** Settles when every source has been heard, or the first refresh is due. */
  readonly firstRefresh: Promise<unknown>;
  /** Null when the socket accepts, else why it cannot. */
  listen(): Promise<string | null>;
  /** Removes the socket. */
  close(): Promise<void>;
}

/** Wires the daemon's actors into a system: samplers → conductor → cache → server, reporter. */
export function startDaemon(system: ActorSystem, settings: DaemonSettings): RunningDaemon {
  const server = system.spawnLocal<ResourceServerMessage, ResourceServerReplies>(
    "resource-server",
    resourceServer({
      socketPath: settings.socket,
      socketMode: settings.socketMode,
      socketGroup: settings.socketGroup,
      intervalMs: settings.intervalMs,
      connectionsMax: connectionsMaxOf(systemRoots),
    }),
  );
  const { schedulerUrl } = settings;
  const reporting = schedulerUrl === null ? null : holdBack(startReporting(system, settings, schedulerUrl));
  const subscribers = reporting === null ? [server] : [server, reporting];
  const cache = system.spawnLocal<CacheMessage>("resource-cache", resourceCache(subscribers));
  const conducting = startSampling(system, settings, cache);
  return {
    firstRefresh: conducting.ask({ type: "first_refresh" }, { deadlineMs: 2 * FIRST_REFRESH_MOST_MS }),
    async listen() {
      const listening = await server.ask({ type: "listen" }, { deadlineMs: LISTEN_DEADLINE_MS });
      const refusal = listening.ok ? listening.value : listening.error.message;
      if (refusal === null) reporting?.release();
      return refusal;
    },
    async close() {
      await server.ask({ type: "close" }, { deadlineMs: CLOSE_DEADLINE_MS, lane: "urgent" });
    },
  };
}

function startReporting(system: ActorSystem, settings: DaemonSettings, schedulerUrl: string): Subscriber {
  const { nodeId, endpoint, intervalMs, noRuntime, proc } = settings;
  const { token, tls } = openCredentials(settings);
  return system.spawnLocal<ReporterMessage>(
    "reporter",
    reporter({ schedulerUrl, nodeId, endpoint, intervalMs, noRuntime, bootId: readBootId(proc), token, tls }),
  );
}

/** Until the socket is ours, another daemon may be there: then this one must not speak for the node. */
function holdBack(subscriber: Subscriber): Subscriber & { release(): void } {
  let newest: Published | null = null;
  let held = true;
  return {
    tell(published) {
      newest = published;
      return held ? null : subscriber.tell(published);
    },
    release() {
      held = false;
      if (newest !== null) subscriber.tell(newest);
    },
  };
}

function startSampling(
  system: ActorSystem,
  settings: DaemonSettings,
  cache: Reference<CacheMessage>,
): Reference<ConductorMessage, ConductorReplies> {
  const name = (source: Source): string => `sampler-${source}`;
  const samplerModule = moduleUrl(import.meta.url, "../actors/sampler/actor");
  // The conductor and the samplers know each other; the samplers' posts find it by the time the first is made.
  const outlet = { tell: (message: unknown) => conducting.tell(message as ConductorMessage) };
  const seats: Seat[] = SOURCES.map((source) => {
    const init: SamplerInit = {
      source,
      proc: settings.proc,
      sys: settings.sys,
      sandboxCgroup: settings.sandboxCgroup,
      filestore: settings.filestore,
      filestoreOvercommitRatio: settings.filestoreOvercommitRatio,
    };
    // Only statfs can hang for long in practice (a network filesystem): a filestore gets a thread of its own.
    const place = source === "disk" && settings.filestore !== null ? "filestore" : "samplers";
    const sampler = system.spawn<Sample>(
      name(source),
      { module: samplerModule, init },
      // One sample at a time and none waiting: a full mailbox says that the sampler is still busy.
      { place, mailboxCapacity: 1, outlet },
    );
    return { source, sampler, place };
  });
  const conducting = system.spawnLocal<ConductorMessage, ConductorReplies>(
    "conductor",
    conductor({
      seats,
      cache,
      threads: {
        busyWith: (place) => SOURCES.find((source) => name(source) === system.thread(place)?.busyWith) ?? null,
        move: (source, place) => void system.move(name(source), place, { handover: false }),
      },
      intervalMs: settings.intervalMs,
      firstRefreshMs: Math.min(settings.intervalMs, FIRST_REFRESH_MOST_MS),
    }),
  );
  return conducting;
}
