import { join } from "node:path";
import { z } from "zod";
import { defaultPlacementConfig, type PlacementConfig } from "../actors/placement/config.ts";
import { findStrategy, STRATEGY_NAMES } from "../actors/placement/ranking/strategy.ts";
import { countBetween } from "../messages/amounts.ts";
import { formatDuration } from "../messages/duration.ts";
import { METRICS } from "../messages/sampling.ts";
import {
  NESTED_KEYS,
  type SchedulerConfiguration,
  schedulerConfigurationSchema,
} from "../messages/scheduler-configuration.ts";
import { durationBetween, oneOf, refuse, show, switchSchema, textNamed } from "../messages/settings.ts";
import { ACCESS_SETTINGS, checkAccess } from "./access-settings.ts";
import { addressSchema } from "./address.ts";
import { readEitherForm } from "./agentenv-file.ts";
import { apiThreadsSchema } from "./api-threads-setting.ts";
import { LOG_SETTINGS } from "./daemon-settings.ts";
import { type Given, readConfigurationFile, resolveSettings, UsageError, type Values } from "./options.ts";

const DAY_MS = 86_400_000;
const usual = defaultPlacementConfig;

/** A duration of at least 1 s: shorter ones would be over before the next tick sees them. */
function duration(key: string, help: string, usualMs: number, mostMs = 7 * DAY_MS) {
  return {
    key,
    value: "DURATION",
    help,
    shownDefault: formatDuration(usualMs),
    schema: durationBetween(1_000, mostMs).default(usualMs),
  } as const;
}

const strategySchema: z.ZodType<string, unknown> = z.unknown().transform((given, context) => {
  const strategy = typeof given === "string" ? findStrategy(given) : undefined;
  return strategy?.name ?? refuse(context, `${show(given)} is not one of ${STRATEGY_NAMES.join(", ")}`);
});

/** As the word that keeps state in memory only. */
export const NO_STATE_DIR = "none";

/** `/var/lib/evenkeel` for root, else below `$XDG_STATE_HOME` (XDG Base Directory Specification). */
export function defaultStateDirectory(environment: NodeJS.ProcessEnv, uid: number): string {
  if (uid === 0) return "/var/lib/evenkeel";
  const home = environment.HOME ?? "/";
  return join(environment.XDG_STATE_HOME || join(home, ".local", "state"), "evenkeel");
}

const USUAL_STATE_DIR = defaultStateDirectory(process.env, process.getuid?.() ?? 0);

/** Every scalar key: a flag, a variable and a key of the file. */
export const SCHEDULER_SETTINGS = {
  http: {
    key: "http",
    value: "HOST:PORT",
    help: "address of the HTTP API",
    shownDefault: "127.0.0.1:7070",
    schema: addressSchema(7070).default({ host: "127.0.0.1", port: 7070 }),
  },
  grpc: {
    key: "grpc",
    value: "HOST:PORT",
    help: "address of the gRPC API; without it, gRPC is not served",
    schema: addressSchema(7070).nullable().default(null),
  },
  apiThreads: {
    key: "api_threads",
    value: "COUNT",
    help: "1: HTTP is answered in the main thread; 2 to 64: in that many worker threads, on one port",
    shownDefault: "auto: half of the cores, 1 to 3",
    schema: apiThreadsSchema,
  },
  noMetrics: {
    key: "no_metrics",
    help: "keep no metrics: GET /metrics is not found",
    schema: switchSchema.default(false),
  },
  stateDir: {
    key: "state_dir",
    value: "DIR",
    help: `where reservations are kept over a restart; ${NO_STATE_DIR} keeps them in memory only`,
    shownDefault: USUAL_STATE_DIR,
    schema: textNamed("a path").default(USUAL_STATE_DIR),
  },
  strategy: {
    key: "strategy",
    value: "NAME",
    help: `how candidates are ranked: ${STRATEGY_NAMES.join(", ")}`,
    shownDefault: usual.strategy,
    schema: strategySchema.default(usual.strategy),
  },
  reportTtlMs: duration("report_ttl", "a node silent for longer is unhealthy", usual.reportTtlMs, DAY_MS),
  bindingTtlMs: duration("binding_ttl", "how long a sandbox is looked up after it was last heard of", 30_000, DAY_MS),
  placementReservationTtlMs: duration(
    "placement_reservation_ttl",
    "lease of a reservation, and of each renewal",
    usual.placementReservationTtlMs,
  ),
  maxReservationAgeMs: duration("max_reservation_age", "no renewal reaches beyond this age", usual.maxReservationAgeMs),
  uncertainTtlMs: duration("uncertain_ttl", "longest lease left to an uncertain reservation", usual.uncertainTtlMs),
  reservationRetentionMs: duration(
    "reservation_retention",
    "how long ended reservations are remembered",
    usual.reservationRetentionMs,
  ),
  rememberedMax: {
    key: "remembered_reservations_max",
    value: "COUNT",
    help: "how many ended reservations are remembered",
    shownDefault: String(usual.rememberedMax),
    schema: countBetween(1, 10_000_000).default(usual.rememberedMax),
  },
  livePerNodeMax: {
    key: "live_reservations_per_node_max",
    value: "COUNT",
    help: "live reservations on one node",
    shownDefault: String(usual.livePerNodeMax),
    schema: countBetween(1, 1_000_000).default(usual.livePerNodeMax),
  },
  confirmedUnseenTtlMs: duration(
    "confirmed_unseen_ttl",
    "a roster this long after a confirm may end it as orphaned",
    usual.confirmedUnseenTtlMs,
  ),
  nodeForgetTtlMs: duration(
    "node_forget_ttl",
    "a node silent for this long is dropped, and its reservations with it",
    usual.nodeForgetTtlMs,
    365 * DAY_MS,
  ),
  startGuardMs: {
    key: "start_guard",
    value: "DURATION",
    help: "how long creations wait for configured nodes after a start, 0s to 10m",
    shownDefault: formatDuration(usual.startGuardMs),
    schema: durationBetween(0, 600_000).default(usual.startGuardMs),
  },
  conditionTtlMs: duration(
    "condition_ttl",
    "a pressure condition ends when its daemon is silent for this long beside a fresh runtime",
    usual.conditionTtlMs,
  ),
  unregisteredQuietMs: duration(
    "unregistered_quiet",
    "heartbeats of an unregistered instance are ignored for this long",
    usual.unregisteredQuietMs,
  ),
  unknownNodes: {
    key: "unknown_nodes",
    value: "last|never",
    help: "whether nodes never heard from rank last or are out",
    shownDefault: usual.unknownNodes,
    schema: oneOf(["last", "never"]).default(usual.unknownNodes),
  },
  mailboxCapacity: {
    key: "mailbox_capacity",
    value: "COUNT",
    help: "requests that may wait for the placement actor; more are refused as overloaded",
    shownDefault: "10000",
    schema: countBetween(1, 1_000_000).default(10_000),
  },
  artifactStoreCapacity: {
    key: "artifact_store_capacity",
    value: "COUNT",
    help: "P2P artifacts whose holders are remembered; the least recently used go first",
    shownDefault: "1000000",
    schema: countBetween(1, 100_000_000).default(1_000_000),
  },
  artifactLookupNodeLimit: {
    key: "artifact_lookup_node_limit",
    value: "COUNT",
    help: "nodes that a look-up of a P2P artifact returns at most",
    shownDefault: "16",
    schema: countBetween(1, 10_000).default(16),
  },
  ...ACCESS_SETTINGS,
  ...LOG_SETTINGS,
} as const;

export type SchedulerSettings = Values<typeof SCHEDULER_SETTINGS> & {
  readonly nested: SchedulerConfiguration;
  /** Keys of an AgentENV file that nothing here serves. */
  readonly unservedKeys: readonly string[];
};

/** Scalars from flags, variables and the file; nested keys from the file. Throws `UsageError` for the first bad one. */
export function resolveSchedulerSettings(given: Omit<Given, "nestedKeys">): SchedulerSettings {
  const { content, unservedKeys } =
    given.file === null
      ? { content: {}, unservedKeys: [] }
      : readEitherForm(readConfigurationFile(given.file), given.file);
  const settings = resolveSettings(SCHEDULER_SETTINGS, { ...given, content, nestedKeys: NESTED_KEYS });
  const nested = schedulerConfigurationSchema.safeParse(
    Object.fromEntries(Object.entries(content).filter(([key]) => NESTED_KEYS.includes(key))),
  );
  if (!nested.success) {
    const [issue] = nested.error.issues;
    const unknown = issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
    const path = [...(issue?.path ?? []), ...unknown].join(".");
    throw new UsageError(`${path} in ${given.file}: ${unknown.length > 0 ? "no such key" : issue?.message}`);
  }
  if (settings.uncertainTtlMs > settings.maxReservationAgeMs) {
    throw new UsageError("--uncertain-ttl: is longer than --max-reservation-age; make it shorter");
  }
  checkAccess(settings, { http: settings.http, grpc: settings.grpc });
  return { ...settings, nested: nested.data, unservedKeys };
}

/** What the placement core is configured with. */
export function placementConfigOf(settings: SchedulerSettings): PlacementConfig {
  const { nested } = settings;
  const limit = nested.node_resource_limit;
  const cores = limit.max_allocated_cpu_including_paused;
  const pressure = METRICS.map((metric) => {
    const rule = nested.pressure[metric];
    return [
      metric,
      {
        enterAt: rule.enter_at,
        enterSamples: rule.enter_samples,
        recoverBelow: rule.recover_below,
        recoverSamples: rule.recover_samples,
        action: nested.pressure_action[metric],
      },
    ] as const;
  });
  return {
    ...defaultPlacementConfig,
    strategy: settings.strategy,
    reportTtlMs: settings.reportTtlMs,
    placementReservationTtlMs: settings.placementReservationTtlMs,
    maxReservationAgeMs: settings.maxReservationAgeMs,
    uncertainTtlMs: settings.uncertainTtlMs,
    reservationRetentionMs: settings.reservationRetentionMs,
    rememberedMax: settings.rememberedMax,
    livePerNodeMax: settings.livePerNodeMax,
    confirmedUnseenTtlMs: settings.confirmedUnseenTtlMs,
    nodeForgetTtlMs: settings.nodeForgetTtlMs,
    startGuardMs: settings.startGuardMs,
    conditionTtlMs: settings.conditionTtlMs,
    unregisteredQuietMs: settings.unregisteredQuietMs,
    unknownNodes: settings.unknownNodes,
    assumedResources: nested.assumed_resources,
    overcommit: nested.overcommit,
    pausedWeight: nested.paused_weight,
    nodeResourceLimit: {
      maxSandboxCount: limit.max_sandbox_count,
      maxSandboxStartingCount: limit.max_sandbox_starting_count,
      maxCpuUsedPercent: limit.max_cpu_used_percent,
      maxCpuAllocatedPercent: limit.max_cpu_allocated_percent,
      maxMemoryUsedPercent: limit.max_memory_used_percent,
      maxMemoryAllocatedPercent: limit.max_memory_allocated_percent,
      maxSandboxCountIncludingPaused: limit.max_sandbox_count_including_paused,
      maxAllocatedCpuMillicoresIncludingPaused: cores === null ? null : cores * 1000,
      maxAllocatedMemoryBytesIncludingPaused: limit.max_allocated_memory_bytes_including_paused,
    },
    pressure: Object.fromEntries(pressure) as PlacementConfig["pressure"],
    nodes:
      nested.nodes.length === 0
        ? null
        : nested.nodes.map(({ id, endpoint, inventory }) => ({
            nodeId: id,
            endpoint: endpoint ?? null,
            ledger: inventory === "none",
          })),
  };
}
