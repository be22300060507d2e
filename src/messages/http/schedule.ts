/** `POST /v1/schedule`. */
import { z } from "zod";
import type { Schedule, ScheduleAnswer } from "../placement.ts";
import { reservationOf, reservationSchema } from "./reservation.ts";
import { flag, identifier, integerBetween, uint32 } from "./scalars.ts";

export const BYTES_PER_MIB = 2 ** 20;
/** As many MiB as have an exact number of bytes: 8 PiB, far above any node. */
export const MEMORY_MIB_MAX = 2 ** 33 - 1;

const cpuCount = uint32.optional().meta({ description: "Cores; 0 or absent: unknown." });
const memoryMib = integerBetween(0, MEMORY_MIB_MAX).optional().meta({ description: "MiB; 0 or absent: unknown." });
const metadata = z.record(z.string(), z.string({ error: "must be a string" })).optional();

const hintSchema = z
  .object({
    new_cold_sandbox: z
      .object({ cpu_count: cpuCount, memory_mb: memoryMib, images: z.array(z.string()).optional(), metadata })
      .optional(),
    new_sandbox: z
      .object({ metadata, cpu_count: cpuCount, memory_mb: memoryMib })
      .optional()
      .meta({ description: "From a template; its demand is unknown unless the caller has resolved it." }),
  })
  .refine((hint) => (hint.new_cold_sandbox === undefined) !== (hint.new_sandbox === undefined), {
    error: "must name exactly one of new_cold_sandbox and new_sandbox",
  })
  .meta({ oneOf: [{ required: ["new_cold_sandbox"] }, { required: ["new_sandbox"] }] });

export const scheduleBody = z.object({
  hint: hintSchema.optional().meta({ description: "What will be created; absent: nothing, and nothing is reserved." }),
  request_id: identifier.optional().meta({ description: "Names one attempt: its repeat returns that reservation." }),
  exclude_node_ids: z.array(identifier).optional(),
  managed: flag.optional().meta({ description: "Default true: the caller closes the reservation by its token." }),
});

export const nodeAddressSchema = z
  .object({
    node_id: z.string(),
    endpoint: z.string().nullable().meta({ description: "Null only for a ledger node that has none." }),
  })
  .meta({ id: "NodeAddress" });

export const assignmentBody = z.object({
  node_id: identifier,
  endpoint: z.string().meta({ description: "As the scheduler knows it: an assignment to any other is refused." }),
});

export const scheduleAnswerSchema = z.object({
  node: nodeAddressSchema,
  reservation: reservationSchema.nullable().meta({ description: "Null for a request that creates nothing." }),
});

/** `credential` is an opaque name of whoever sent it: request ids are scoped to it. */
export function scheduleMessage(body: z.output<typeof scheduleBody>, credential: string): Schedule {
  const { hint } = body;
  const wanted = hint?.new_cold_sandbox ?? hint?.new_sandbox;
  return {
    type: "schedule",
    hint: hint === undefined ? "none" : hint.new_cold_sandbox === undefined ? "new_sandbox" : "new_cold_sandbox",
    cpuMillicores: positive(wanted?.cpu_count, 1000),
    memoryBytes: positive(wanted?.memory_mb, BYTES_PER_MIB),
    requestId: body.request_id ?? null,
    credential,
    excludeNodeIds: body.exclude_node_ids ?? [],
    managed: body.managed ?? true,
  };
}

function positive(amount: number | undefined, unit: number): number | null {
  return amount === undefined || amount === 0 ? null : amount * unit;
}

export function scheduleAnswerOf({ node, reservation }: ScheduleAnswer): z.output<typeof scheduleAnswerSchema> {
  return {
    node: { node_id: node.nodeId, endpoint: node.endpoint },
    reservation: reservation === null ? null : reservationOf(reservation),
  };
}
