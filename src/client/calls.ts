/** What is said to a scheduler and what it answers, in the shapes of the HTTP API. */
import type { z } from "zod";
import type { WireReservation } from "../messages/http/reservation.ts";
import type { nodeAddressSchema, scheduleAnswerSchema, scheduleBody } from "../messages/http/schedule.ts";

/** `endpoint` is null on a ledger node that has not been given one. */
export type NodeAddress = z.output<typeof nodeAddressSchema>;
export type Reservation = WireReservation;
export type ScheduleRequest = z.input<typeof scheduleBody>;
export type ScheduleAnswer = z.output<typeof scheduleAnswerSchema>;

export interface CallOptions {
  /** In place of the client's own. */
  readonly withinMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface ConfirmOptions extends CallOptions {
  /** Charges past the node's capacity where a late confirm no longer fits, because the sandbox exists. */
  readonly force?: boolean;
}

/** The calls that `place` is made of; `PlacementClient` says what each one means. */
export interface PlacementCalls {
  schedule(request: ScheduleRequest, options?: CallOptions): Promise<ScheduleAnswer>;
  confirm(token: string, sandboxId: string, options?: ConfirmOptions): Promise<Reservation>;
  cancel(token: string, reason?: string, options?: CallOptions): Promise<Reservation>;
  renew(token: string, options?: CallOptions): Promise<Reservation>;
  uncertain(token: string, reason?: string, options?: CallOptions): Promise<Reservation>;
}
