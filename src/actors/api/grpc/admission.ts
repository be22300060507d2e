import {
  ResponderBuilder,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  type status,
} from "@grpc/grpc-js";
import { type Callers, refuseCaller } from "../../../messages/callers.ts";
import { grpcStatusOf, type Refusal } from "../../../messages/errors.ts";
import type { Clock, Timer } from "../../../ports/clock.ts";
import type { Gate } from "../tokens.ts";
import { authorizationOf } from "./callers.ts";

/** The other end of a connection, as the system names it. */
export interface Peer {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

export interface AdmissionOptions {
  readonly gate: Gate;
  /** By the method's path, such as `/scheduler.v1.Scheduler/Heartbeat`; the others are anyone's, and may take long. */
  readonly callersByPath: ReadonlyMap<string, Callers>;
  /** How long a message may take to arrive once its call has begun. */
  readonly requestWithinMs: number;
  /** Ends the connection that such a call came on: to end the call alone takes a peer that plays along. */
  drop(peer: Peer): void;
  readonly clock: Clock;
}

/**
 * Turns strangers away before their message is read, and drops whoever does not send one in time: the library waits for
 * as long as the connection answers pings. A client of unary calls sends the whole message with the call.
 */
export function createAdmission({
  gate,
  callersByPath,
  requestWithinMs,
  drop,
  clock,
}: AdmissionOptions): ServerInterceptor {
  return (method, call) => {
    const callers = callersByPath.get(method.path);
    if (callers === undefined) return new ServerInterceptingCall(call);
    let overdue: Timer | null = null;
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        const refusal = refuse(gate, callers, authorizationOf(metadata));
        if (refusal !== null) {
          call.sendStatus({ code: grpcStatusOf(refusal) as status, details: refusal.message });
          return;
        }
        overdue = clock.after(requestWithinMs, () => drop(call.getConnectionInfo()));
        next(metadata);
      })
      .withOnReceiveMessage((message, next) => {
        overdue?.cancel();
        next(message);
      })
      .withOnCancel(() => overdue?.cancel())
      .build();
    return new ServerInterceptingCall(call, new ResponderBuilder().withStart((next) => next(listener)).build());
  };
}

function refuse(gate: Gate, callers: Callers, authorization: string | undefined): Refusal | null {
  const admission = gate.admit(authorization);
  return admission.ok ? refuseCaller(admission.caller, callers) : admission.refusal;
}
