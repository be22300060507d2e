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

/** grpc/grpc, doc/statuscodes.md. */
const DEADLINE_EXCEEDED = 4;

export interface AdmissionOptions {
  readonly gate: Gate;
  /** By the method's path, such as `/scheduler.v1.Scheduler/Heartbeat`; the others are anyone's, and may take long. */
  readonly callersByPath: ReadonlyMap<string, Callers>;
  /** How long a message may take to arrive once its call has begun. */
  readonly requestWithinMs: number;
  readonly clock: Clock;
}

/**
 * Turns strangers away before their message is read, and ends calls whose message does not arrive in time: the library
 * waits for one for as long as the connection answers pings.
 */
export function createAdmission({ gate, callersByPath, requestWithinMs, clock }: AdmissionOptions): ServerInterceptor {
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
        overdue = clock.after(requestWithinMs, () => {
          call.sendStatus({ code: DEADLINE_EXCEEDED, details: "the request did not arrive in time" });
        });
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
