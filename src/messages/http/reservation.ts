/** Reservations as the HTTP API shows them, and the bodies that move them. */
import { z } from "zod";
import { RESERVATION_STATES, type ReservationView } from "../placement.ts";
import { bytes, cores, flag, formatTime, identifier, textUpTo, time, wordFrom } from "./scalars.ts";

export const reservationSchema = z
  .object({
    id: z.string().meta({ description: "Public name, `rs_…`; operators act by it." }),
    token: z
      .string()
      .nullable()
      .optional()
      .meta({ description: "Secret, `rt_…`: only for the caller whose it is. Null: unmanaged, there is none." }),
    state: z.enum(RESERVATION_STATES),
    managed: z.boolean(),
    uncertain: z.boolean(),
    late: z.boolean().meta({ description: "Confirmed after its lease, or after it ended as an orphan." }),
    node_id: z.string(),
    sandbox_id: z.string().nullable(),
    cpu: cores,
    memory_bytes: bytes,
    created_at: time,
    expires_at: time.nullable().meta({ description: "Null once the state has no lease." }),
    reason: z.string().nullable().meta({ description: "Why it ended; null while it is live." }),
  })
  .meta({ id: "Reservation", description: "`cpu` and `memory_bytes` are what is charged." });

export type WireReservation = z.output<typeof reservationSchema>;

export function reservationOf(view: ReservationView): WireReservation {
  return {
    id: view.id,
    ...(view.token !== null || !view.managed ? { token: view.token } : {}),
    state: view.state,
    managed: view.managed,
    uncertain: view.uncertain,
    late: view.late,
    node_id: view.nodeId,
    sandbox_id: view.sandboxId,
    cpu: view.cpuMillicores / 1000,
    memory_bytes: view.memoryBytes,
    created_at: formatTime(view.createdAtUnixMs),
    expires_at: view.expiresAtUnixMs === null ? null : formatTime(view.expiresAtUnixMs),
    reason: view.reason,
  };
}

export const reservationAnswerSchema = z.object({ reservation: reservationSchema });
export const reservationsAnswerSchema = z.object({
  reservations: z.array(reservationSchema),
  cursor: z.string().nullable().meta({ description: "Asks for the next page; null: this was the last." }),
});

/** A token (`rt_…`) or a public id (`rs_…`). */
export const handleParams = z.object({ token: identifier });

export const confirmBody = z.object({
  sandbox_id: identifier,
  force: flag.optional().meta({ description: "A late confirm charges past capacity instead of being refused." }),
});

/** Of cancel, renew and uncertain. */
export const reasonBody = z.object({
  reason: textUpTo(256).optional().meta({
    description: "Such as `refused`, `failed`, `client_gone`. The first two count towards the node's demotion.",
  }),
});

const LIMIT = { usual: 1_000, most: 10_000 };

/** A query is text: digits are the number. */
const limit = z
  .string()
  .regex(/^[1-9]\d{0,4}$/, { error: `must be an integer from 1 to ${LIMIT.most}` })
  .transform(Number)
  .refine((count) => count <= LIMIT.most, { error: `must be an integer from 1 to ${LIMIT.most}` })
  .meta({ description: `How many at most, 1 to ${LIMIT.most}; ${LIMIT.usual} when absent.` });

export const reservationsQuery = z.object({
  node_id: identifier.optional(),
  state: wordFrom(RESERVATION_STATES).optional().meta({ description: "Absent: pending and confirmed." }),
  limit: limit.optional(),
  cursor: identifier.optional(),
});

export const USUAL_LIMIT = LIMIT.usual;
