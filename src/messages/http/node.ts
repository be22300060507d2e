/** Nodes as the HTTP API shows them, and what an operator says of one. */
import { z } from "zod";
import { CONDITIONS, type NodeView } from "../nodes.ts";
import { METRICS } from "../sampling.ts";
import { snapshotSchema, wireSnapshotOf } from "./heartbeat.ts";
import { bytes, cores, formatTime, identifier, textUpTo, time, wordFrom } from "./scalars.ts";

const ratio = z.number().min(0).max(1).nullable();
const count = z.int().min(0);

export const nodeSchema = z
  .object({
    node_id: z.string(),
    endpoint: z.string().nullable(),
    cluster_id: z.string().nullable(),
    version: z.string().nullable(),
    service_instance_id: z.string().nullable().meta({ description: "What `DELETE /v1/nodes/{node_id}` must name." }),
    status: z.enum(["READY", "CONNECTING", "UNHEALTHY", "LINGERING"]),
    cordoned: z.boolean(),
    cordon_reason: z.string().nullable(),
    conditions: z.array(z.object({ type: z.enum(CONDITIONS), since: time })),
    schedulable: z.boolean(),
    reasons: z.array(z.string()).meta({ description: "In words, why it is not schedulable, or not fully." }),
    snapshot: snapshotSchema.nullable().meta({ description: "The newest of the runtime; null before the first." }),
    utilization: z
      .object(
        Object.fromEntries(METRICS.map((metric) => [metric, ratio])) as Record<(typeof METRICS)[number], typeof ratio>,
      )
      .nullable()
      .meta({ description: "The newest of the daemon; null before the first." }),
    capacity: z
      .object({ cpu: cores.nullable(), memory_bytes: bytes.nullable() })
      .meta({ description: "Null: never known." }),
    projected: z
      .object({
        cpu: cores,
        memory_bytes: z.number().min(0),
        starting: count,
        pressure: z.number().min(0).nullable().meta({ description: "Null when no capacity is known." }),
      })
      .meta({ description: "Allocated, paused by its weight, and in flight." }),
    available: z
      .object({ cpu: cores.nullable(), memory_bytes: z.number().min(0).nullable() })
      .meta({ description: "max(0, capacity × overcommit − projected)." }),
    over_limit: z.boolean().meta({ description: "Whether projected exceeds what may be promised." }),
    reservations: z.object({ pending: count, confirmed: count }),
    in_flight: z
      .object({ cpu: cores, memory_bytes: bytes, count })
      .meta({ description: "What live reservations are charged, as part of `projected`." }),
    accounting: z.enum(["roster", "sums", "ledger"]),
    demoted: z.boolean(),
    generation: count,
    last_seen: time.nullable().meta({ description: "Null: not heard since the start." }),
  })
  .meta({ id: "Node" });

export type WireNode = z.output<typeof nodeSchema>;

export function nodeOf(view: NodeView): WireNode {
  const inCores = (millicores: number | null): number | null => (millicores === null ? null : millicores / 1000);
  return {
    node_id: view.nodeId,
    endpoint: view.endpoint,
    cluster_id: view.clusterId,
    version: view.version,
    service_instance_id: view.serviceInstanceId,
    status: view.status,
    cordoned: view.cordoned,
    cordon_reason: view.cordonReason,
    conditions: view.conditions.map(({ type, sinceUnixMs }) => ({ type, since: formatTime(sinceUnixMs) })),
    schedulable: view.schedulable,
    reasons: [...view.reasons],
    snapshot: view.snapshot === null ? null : wireSnapshotOf(view.snapshot),
    utilization: view.utilization,
    capacity: { cpu: inCores(view.capacity.cpuMillicores), memory_bytes: view.capacity.memoryBytes },
    projected: {
      cpu: view.projected.cpuMillicores / 1000,
      memory_bytes: view.projected.memoryBytes,
      starting: view.projected.starting,
      pressure: view.projected.pressure,
    },
    available: { cpu: inCores(view.available.cpuMillicores), memory_bytes: view.available.memoryBytes },
    over_limit: view.overLimit,
    reservations: { ...view.reservations },
    in_flight: {
      cpu: view.inFlight.cpuMillicores / 1000,
      memory_bytes: view.inFlight.memoryBytes,
      count: view.inFlight.count,
    },
    accounting: view.accounting,
    demoted: view.demoted,
    generation: view.generation,
    last_seen: view.lastSeenUnixMs === null ? null : formatTime(view.lastSeenUnixMs),
  };
}

export const nodeAnswerSchema = z.object({ node: nodeSchema });
export const nodesAnswerSchema = z.object({ nodes: z.array(nodeSchema) });

export const cordonBody = z.object({ reason: textUpTo(1024).optional() });
export const conditionParams = z.object({ node_id: identifier, type: wordFrom(CONDITIONS) });
export const instanceQuery = z.object({ service_instance_id: identifier });
