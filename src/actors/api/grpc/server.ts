/** The scheduler's gRPC server: both services, health and reflection on one port, in plain text. */
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { ReservationsService } from "../../../messages/proto/generated/evenkeel/v1/reservations.ts";
import { SchedulerService } from "../../../messages/proto/generated/scheduler/v1/scheduler.ts";
import type { Log } from "../../kernel/actor.ts";
import { createHealth } from "./health.ts";
import { addReflection } from "./reflection.ts";
import { createReservationsHandlers } from "./reservations-service.ts";
import { createSchedulerHandlers, type SchedulerActors } from "./scheduler-service.ts";
import { createUnaryService } from "./unary.ts";

export interface GrpcServerOptions extends SchedulerActors {
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
  /** Its bookkeeping is what knows the connections that a forced shutdown has to cut. */
  "grpc.enable_channelz": 1,
} as const;

export function createGrpcServer({ log, ...actors }: GrpcServerOptions): GrpcServer {
  const server = new Server(GRPC_SERVER_OPTIONS);
  const { placement, clock } = actors;
  const scheduler = createUnaryService(SchedulerService, createSchedulerHandlers(actors), {
    bytesMax: { usual: REQUEST_BYTES_MAX, heartbeat: HEARTBEAT_BYTES_MAX },
    log,
  });
  const reservations = createUnaryService(ReservationsService, createReservationsHandlers(placement), {
    bytesMax: { usual: REQUEST_BYTES_MAX },
    log,
  });
  server.addService(scheduler.definition, scheduler.implementation);
  server.addService(reservations.definition, reservations.implementation);
  const health = createHealth(placement, clock, ["scheduler.v1.Scheduler", "evenkeel.v1.Reservations"]);
  health.addTo(server);
  addReflection(server);

  return {
    listen: ({ host, port }) => listen(server, host, port),
    async close(graceMs) {
      health.close();
      const cut = clock.after(graceMs, () => server.forceShutdown());
      await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      cut.cancel();
    },
  };
}

async function listen(server: Server, host: string, port: number): Promise<{ host: string; port: number }> {
  const address = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, boundPort) => {
      if (error === null) resolve(boundPort);
      else reject(withCode(error));
    });
  });
  return { host, port: bound };
}

/** The library keeps of the system's error only its text, such as `… listen EADDRINUSE: address already in use …`. */
function withCode({ message }: Error): NodeJS.ErrnoException {
  const [, reason = message, code] = /((E[A-Z]+)\b[^\]]*)/.exec(message) ?? [];
  return Object.assign(new Error(reason), code === undefined ? {} : { code });
}
