/**
 * The configuration file of AgentENV's scheduler, read as one of ours. Its keys stand under `"scheduler"`; most of them
 * have our names.
 */
import { formatDuration, parseDuration } from "../messages/duration.ts";
import { NESTED_KEYS } from "../messages/scheduler-configuration.ts";
import { UsageError } from "./options.ts";

export interface ConfigurationContent {
  /** In our form. */
  readonly content: Readonly<Record<string, unknown>>;
  /** Keys that were left out because nothing here serves them. */
  readonly unservedKeys: readonly string[];
}

/** Theirs, with another name here. */
const RENAMED: Readonly<Record<string, string>> = {
  grpc_listen_addr: "grpc",
  /** `/metrics` is a path of the HTTP API. */
  metrics_listen_addr: "http",
};

/** Keys under `"scheduler"` that are read as they are. */
const SAME: ReadonlySet<string> = new Set([
  "strategy",
  "report_ttl",
  "binding_ttl",
  "placement_reservation_ttl",
  "artifact_store_capacity",
  "artifact_lookup_node_limit",
  "node_resource_limit",
  "nodes",
]);

const NODE_KEYS: ReadonlySet<string> = new Set(["id", "endpoint"]);
const LIMIT_KEYS: ReadonlySet<string> = new Set([
  "max_sandbox_count",
  "max_sandbox_starting_count",
  "max_cpu_used_percent",
  "max_cpu_allocated_percent",
  "max_memory_used_percent",
  "max_memory_allocated_percent",
  "max_sandbox_count_including_paused",
  "max_allocated_cpu_including_paused",
  "max_allocated_memory_bytes_including_paused",
]);

/**
 * A file of either form, in ours: one that has a `"scheduler"` object is AgentENV's. Throws `UsageError` for a key that
 * would change placement and is not served.
 */
export function readEitherForm(file: Readonly<Record<string, unknown>>, path: string): ConfigurationContent {
  const { scheduler, ...others } = file;
  if (!isObject(scheduler)) return { content: file, unservedKeys: [] };
  const unservedKeys: string[] = Object.keys(others);
  // Their default; without it nobody would be served.
  const content: Record<string, unknown> = { grpc: "127.0.0.1:9090" };
  for (const [key, value] of Object.entries(scheduler)) {
    refuseUnlessServed(key, value, path);
    // Left empty is left out.
    if (value === "" || value === null || key === "discovery" || key === "redis_addr") continue;
    const renamed = RENAMED[key];
    if (renamed !== undefined) content[renamed] = addressOf(value);
    else if (SAME.has(key)) content[key] = servedPartOf(key, value, unservedKeys);
    else unservedKeys.push(`scheduler.${key}`);
  }
  return { content, unservedKeys };
}

function refuseUnlessServed(key: string, value: unknown, path: string): void {
  if (key === "redis_addr" && value !== "" && value !== null) {
    throw new UsageError(
      `scheduler.redis_addr in ${path}: state in Redis is not served; leave it empty and run one scheduler`,
    );
  }
  if (key !== "discovery") return;
  const mode = isObject(value) ? value.mode : undefined;
  if (mode === undefined || mode === "" || mode === "static") return;
  throw new UsageError(
    `scheduler.discovery.mode in ${path}: only static discovery is served, not ${JSON.stringify(mode)}; list the nodes under scheduler.nodes`,
  );
}

/** A port alone is one on every address. */
function addressOf(value: unknown): unknown {
  return typeof value === "string" && value.startsWith(":") ? `0.0.0.0${value}` : value;
}

function servedPartOf(key: string, value: unknown, unservedKeys: string[]): unknown {
  if (key === "node_resource_limit") return only(LIMIT_KEYS, value, `scheduler.${key}`, unservedKeys);
  if (key === "nodes" && Array.isArray(value)) {
    return value.map((node) => only(NODE_KEYS, node, "scheduler.nodes[]", unservedKeys));
  }
  return NESTED_KEYS.includes(key) || typeof value !== "string" ? value : durationOf(value);
}

function only(known: ReadonlySet<string>, value: unknown, named: string, unservedKeys: string[]): unknown {
  if (!isObject(value)) return value;
  for (const key of Object.keys(value)) {
    if (!known.has(key) && !unservedKeys.includes(`${named}.${key}`)) unservedKeys.push(`${named}.${key}`);
  }
  return Object.fromEntries(Object.entries(value).filter(([key]) => known.has(key)));
}

/** Their durations may have several units, such as `1m30s`; anything else is left for the setting to judge. */
function durationOf(text: string): string {
  const parts = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h)){2,}$/.test(text) ? text.match(/[\d.]+[a-z]+/g) : null;
  if (parts === null) return text;
  return formatDuration(parts.reduce((sum, part) => sum + (parseDuration(part) ?? 0), 0));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
