import type { CacheMessage, ResourceSnapshot, SourceOutcome, SourceStatus } from "../../messages/resource.ts";
import type { CapacityObservation, MetricObservation, Source } from "../../messages/sampling.ts";
import { SOURCES } from "../../messages/sampling.ts";

const GIB = 2n ** 30n;

/** All that the cache knows. A value: `observe` makes the next one. */
export interface CacheState {
  readonly snapshot: ResourceSnapshot;
  readonly sources: Readonly<Record<Source, SourceStatus>>;
  /** Monotonic milliseconds of the last refresh that read both CPU and memory capacity; null for never. */
  readonly capacityAtMs: number | null;
  /** Finished refreshes. */
  readonly refreshes: number;
}

export function initialState(): CacheState {
  const sources = Object.fromEntries(
    SOURCES.map((source) => [source, { source, outcome: "missed", sampledAtMs: null, durationMs: null }]),
  ) as unknown as Record<Source, SourceStatus>;
  return {
    snapshot: {
      cpu: 0,
      memoryBytes: 0n,
      storageBytes: null,
      utilization: { cpu: null, memory: null, pid: null, fd: null, disk: null },
    },
    sources,
    capacityAtMs: null,
    refreshes: 0,
  };
}

/**
 * The state after one message that arrived at `nowMs` (monotonic). A metric takes the newest observation, null too; a
 * capacity that could not be read keeps its last good value.
 */
export function observe(state: CacheState, message: CacheMessage, nowMs: number): CacheState {
  if (message.type === "refreshed") return { ...state, refreshes: state.refreshes + 1 };
  if (message.type === "missed") {
    const sources = withSource(state, { ...state.sources[message.source], outcome: "missed" });
    if (message.source === "capacity") return { ...state, sources };
    return { ...state, sources, snapshot: withRatio(state.snapshot, message.source, null) };
  }
  const { source, durationMs } = message;
  const sources = withSource(state, { source, outcome: outcomeOf(message), sampledAtMs: nowMs, durationMs });
  if (message.source === "capacity") return withCapacity({ ...state, sources }, message, nowMs);
  return { ...state, sources, snapshot: withMetric(state.snapshot, message) };
}

/**
 * The answer to `GET /resource`. Integers are written digit by digit, since JSON numbers have no bound and JavaScript's
 * doubles do. The key `storage` is absent without a filestore.
 */
export function serialise({ cpu, memoryBytes, storageBytes, utilization }: ResourceSnapshot): string {
  const storage = storageBytes === null ? {} : { storage: exactly(storageBytes) };
  const features = storageBytes === null ? [] : ["storage-quota-v1"];
  return JSON.stringify({ cpu, mem: exactly(memoryBytes), xpu: [], ...storage, features, utilization });
}

// Part of ECMAScript's "JSON.parse source text access", which Node 24 has and TypeScript's library does not yet name.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
const exactly = (integer: bigint): unknown => rawJSON(integer.toString());

function outcomeOf(observation: MetricObservation | CapacityObservation): SourceOutcome {
  if (observation.failed) return "failed";
  if (observation.source === "capacity") return "ok";
  return observation.ratio === null ? "none" : "ok";
}

function withSource(state: CacheState, status: SourceStatus): CacheState["sources"] {
  return { ...state.sources, [status.source]: status };
}

function withRatio(snapshot: ResourceSnapshot, metric: MetricObservation["source"], ratio: number | null) {
  return { ...snapshot, utilization: { ...snapshot.utilization, [metric]: ratio } };
}

function withMetric(snapshot: ResourceSnapshot, { source, ratio, storageBytes }: MetricObservation): ResourceSnapshot {
  const next = withRatio(snapshot, source, ratio);
  return typeof storageBytes === "bigint" ? { ...next, storageBytes } : next;
}

function withCapacity(state: CacheState, observation: CapacityObservation, nowMs: number): CacheState {
  const { cpuMillicores, memoryBytes } = observation;
  return {
    ...state,
    snapshot: {
      ...state.snapshot,
      cpu: cpuMillicores === null ? state.snapshot.cpu : Math.floor(cpuMillicores / 1000),
      memoryBytes: memoryBytes === null ? state.snapshot.memoryBytes : wholeGib(memoryBytes),
    },
    capacityAtMs: cpuMillicores === null || memoryBytes === null ? state.capacityAtMs : nowMs,
  };
}

/** Rounded down to a whole GiB when it is at least one. */
function wholeGib(bytes: bigint): bigint {
  return bytes >= GIB ? bytes - (bytes % GIB) : bytes;
}
