/** The scheduler's gRPC server: both services, health and reflection on one port. */
import { Server } from "@grpc/grpc-js";
import type { Callers } from "../../../messages/callers.ts";
import { ReservationsService } from "../../../messages/proto/generated/evenkeel/v1/reservations.ts";
import { SchedulerService } from "../../../messages/proto/generated/scheduler/v1/scheduler.ts";
import type { Log } from "../../kernel/actor.ts";
import type { Access } from "../http-server.ts";
import { createAdmission, type Peer } from "./admission.ts";
import { type CallersOf, RESERVATIONS_CALLERS, SCHEDULER_CALLERS } from "./callers.ts";
import { createHealth } from "./health.ts";
import { createGrpcListener } from "./listener.ts";
import { addReflection } from "./reflection.ts";
import { createReservationsHandlers } from "./reservations-service.ts";
import { createSchedulerHandlers, type SchedulerActors } from "./scheduler-service.ts";
import { createUnaryService } from "./unary.ts";

export interface GrpcServerOptions extends SchedulerActors {
  readonly access: Access;
  readonly log: Log;
}

export interface GrpcServer {
  /** The address that it really listens on. Rejects with the system's error; its `code` is set. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ host: string; port: number }>;
  /** Takes no more calls, answers those that run, and cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

const HEARTBEAT_BYTES_MAX = 8 * 2 ** 20;
const REQUEST_BYTES_MAX = 64 * 2 ** 10;

export const GRPC_SERVER_OPTIONS = {
  /** The library's limit is one for all calls; the smaller ones are checked where a message is read. */
  "grpc.max_receive_message_length": HEARTBEAT_BYTES_MAX,
  /** Pings find a peer that is gone without a word, whose calls would be held for ever. */
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
  /** On one connection; a gateway that needs more at a time opens another. */
  "grpc.max_concurrent_streams": 10_000,
  /** Statistics for a debugging service that is not served. */
  "grpc.enable_channelz": 0,
} as const;

export function createGrpcServer({ access, log, ...actors }: GrpcServerOptions): GrpcServer {
  const { placement, clock } = actors;
  const { gate, bounds } = access;
  const { requestWithinMs } = bounds;
  const drop = (peer: Peer): void => listener.drop(peer);
  const callersByPath = new Map([
    ...callersOf(SchedulerService, SCHEDULER_CALLERS),
    ...callersOf(ReservationsService, RESERVATIONS_CALLERS),
  ]);
  const server = new Server({
    ...GRPC_SERVER_OPTIONS,
    interceptors: [createAdmission({ gate, callersByPath, requestWithinMs, drop, clock })],
  });
  const scheduler = createUnaryService(SchedulerService, createSchedulerHandlers(actors), {
    bytesMax: { usual: REQUEST_BYTES_MAX, heartbeat: HEARTBEAT_BYTES_MAX },
    gate,
    log,
  });
  const reservations = createUnaryService(ReservationsService, createReservationsHandlers(placement), {
    bytesMax: { usual: REQUEST_BYTES_MAX },
    gate,
    log,
  });
  server.addService(scheduler.definition, scheduler.implementation);
  server.addService(reservations.definition, reservations.implementation);
  const health = createHealth(placement, clock, ["scheduler.v1.Scheduler", "evenkeel.v1.Reservations"]);
  health.addTo(server);
  addReflection(server);

  const listener = createGrpcListener(server, access);

  return {
    listen: (address) => listener.listen(address),
    async close(graceMs) {
      health.close();
      const cut = clock.after(graceMs, () => listener.cut());
      const ended = listener.close();
      // Tells clients to go. It does not wait for the calls of connections that we accepted ourselves: their end does.
      server.tryShutdown(() => undefined);
      await ended;
      cut.cancel();
    },
  };
}

function callersOf<Service extends Record<keyof Service, { readonly path: string }>>(
  service: Service,
  callers: CallersOf<Service>,
): [string, Callers][] {
  return (Object.keys(service) as (keyof Service)[]).map((name) => [service[name].path, callers[name]]);
}
