/** Unary calls on @grpc/grpc-js: reading, refusing and answering, the same for every method. */
import type {
  Metadata,
  MethodDefinition,
  ServerUnaryCall,
  ServiceDefinition,
  sendUnaryData,
  status,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { type Caller, refuseNode } from "../../../messages/callers.ts";
import { grpcStatusOf, type Refusal, refuse } from "../../../messages/errors.ts";
import type { Reply } from "../../../messages/placement.ts";
import { describeThrown } from "../../../messages/thrown.ts";
import type { Log } from "../../kernel/actor.ts";
import type { Gate } from "../tokens.ts";
import { CallRefused } from "./border.ts";
import { authorizationOf } from "./callers.ts";
import { checkWireFormat } from "./wire-format.ts";

/** What a handler gives the server: the answer, what goes with it, and whom to tell when it could not be written. */
export type Handled<Response> = Reply<Response> & {
  readonly metadata?: Metadata;
  readonly undelivered?: () => void;
};

export type UnaryHandler<Request, Response> = (request: Request, context: CallContext) => Promise<Handled<Response>>;

export interface CallContext {
  readonly metadata: Metadata;
  /** One that may make such a call, and speak for the request's `node_id` if it has one. */
  readonly caller: Caller;
}

/** One handler for each method of a generated service definition, under its name. */
export type HandlersOf<Service> = {
  readonly [Name in keyof Service]: Service[Name] extends MethodDefinition<infer Request, infer Response>
    ? UnaryHandler<Request, Response>
    : never;
};

export interface UnaryService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

export interface UnaryOptions {
  /** Of a request, in bytes, by the method's name; the others have `usual`. */
  readonly bytesMax: { readonly usual: number; readonly [name: string]: number };
  readonly gate: Gate;
  readonly log: Log;
}

/** A request as it was read, or why it could not be. */
type Received = { readonly ok: true; readonly request: unknown } | { readonly ok: false; readonly refusal: Refusal };

/** An answer on its way out. The library encodes it only while the call is still open. */
interface Outgoing {
  readonly response: unknown;
  written: boolean;
}

/** A generated method whose requests are read, and whose answers are written, in our way. */
interface ServedMethod extends Omit<MethodDefinition<unknown, unknown>, "requestDeserialize" | "responseSerialize"> {
  readonly requestDeserialize: (bytes: Buffer) => Received;
  readonly responseSerialize: (outgoing: Outgoing) => Buffer;
}

export function createUnaryService<Service extends object>(
  service: Service,
  handlers: HandlersOf<Service>,
  { bytesMax, gate, log }: UnaryOptions,
): UnaryService {
  const definition: Record<string, ServedMethod> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const [name, method] of Object.entries(service) as [string, MethodDefinition<unknown, unknown>][]) {
    const handle = handlers[name as keyof Service] as UnaryHandler<unknown, unknown>;
    definition[name] = {
      ...method,
      requestDeserialize: reader(method, bytesMax[name] ?? bytesMax.usual),
      responseSerialize: (outgoing) => {
        outgoing.written = true;
        return method.responseSerialize(outgoing.response);
      },
    };
    implementation[name] = (call: ServerUnaryCall<Received, Outgoing>, callback: sendUnaryData<Outgoing>) =>
      void run(handle, call, { gate, log }).then((handled) => finish(handled, call, callback));
  }
  return { definition: definition as unknown as ServiceDefinition, implementation };
}

/** Reads requests without throwing: what the library makes of an exception is an error of this server. */
function reader(method: MethodDefinition<unknown, unknown>, bytesMax: number): (bytes: Buffer) => Received {
  return (bytes) => {
    if (bytes.length > bytesMax) {
      const message = `the message is longer than ${bytesMax} bytes`;
      return { ok: false, refusal: refuse("payload_too_large", message, { bytes_max: bytesMax }) };
    }
    try {
      checkWireFormat(bytes);
      return { ok: true, request: method.requestDeserialize(bytes) };
    } catch {
      const { requestType = "request" } = method as { requestType?: string };
      return { ok: false, refusal: refuse("invalid_argument", `the message is not a valid ${requestType}`, {}) };
    }
  };
}

async function run(
  handle: UnaryHandler<unknown, unknown>,
  call: ServerUnaryCall<Received, Outgoing>,
  { gate, log }: Pick<UnaryOptions, "gate" | "log">,
): Promise<Handled<unknown>> {
  const received = call.request;
  if (!received.ok) return received;
  const { metadata } = call;
  // The kind of token has been judged when the call came; which node it speaks for stands in the message.
  const admission = gate.admit(authorizationOf(metadata));
  if (!admission.ok) return admission;
  const { caller } = admission;
  const { nodeId } = received.request as { readonly nodeId?: string };
  const refusal = nodeId === undefined ? null : refuseNode(caller, nodeId);
  if (refusal !== null) return { ok: false, refusal };
  try {
    return await handle(received.request, { metadata, caller });
  } catch (thrown) {
    if (thrown instanceof CallRefused) return { ok: false, refusal: thrown.refusal };
    log.error({ method: call.getPath(), reason: describeThrown(thrown) }, "a call failed");
    return { ok: false, refusal: refuse("internal", "the scheduler failed to handle this call", {}) };
  }
}

function finish(
  handled: Handled<unknown>,
  call: ServerUnaryCall<Received, Outgoing>,
  callback: sendUnaryData<Outgoing>,
): void {
  if (!handled.ok) {
    callback({ code: grpcStatusOf(handled.refusal) as status, details: handled.refusal.message });
    return;
  }
  const outgoing: Outgoing = { response: handled.answer, written: false };
  if (handled.metadata !== undefined) call.sendMetadata(handled.metadata);
  callback(null, outgoing);
  if (!outgoing.written) handled.undelivered?.();
}
