/** A client generated from the same .proto files, that gives statuses as values. */
import {
  Client,
  credentials,
  Metadata,
  type MethodDefinition,
  type requestCallback,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { ReservationsService } from "../../../src/messages/proto/generated/evenkeel/v1/reservations.ts";
import {
  HeartbeatRequest,
  MachineInfo,
  NodeSnapshot,
  SchedulerService,
} from "../../../src/messages/proto/generated/scheduler/v1/scheduler.ts";

const CALL_DEADLINE_MS = 20_000;

const METHODS = { ...SchedulerService, ...ReservationsService } as const;
type Methods = typeof METHODS;
type RequestOf<Name extends keyof Methods> =
  Methods[Name] extends MethodDefinition<infer Request, infer _> ? Request : never;
type ResponseOf<Name extends keyof Methods> =
  Methods[Name] extends MethodDefinition<infer _, infer Response> ? Response : never;

export interface Answer<Response> {
  readonly response: Response;
  /** Initial metadata of the answer. */
  readonly metadata: Metadata;
}

export interface Refused {
  readonly code: status;
  readonly details: string;
}

export interface HeartbeatFields extends Partial<Omit<HeartbeatRequest, "snapshot" | "machineInfo">> {
  readonly snapshot?: Partial<NodeSnapshot>;
  readonly machineInfo?: Partial<MachineInfo>;
}

export class GrpcClient implements Disposable {
  readonly raw: Client;

  constructor(address: string) {
    this.raw = new Client(address, credentials.createInsecure(), { "grpc.max_send_message_length": -1 });
  }

  /** The answer; throws when it is an error. */
  async call<Name extends keyof Methods>(
    name: Name,
    request: RequestOf<Name>,
    metadata: Record<string, string> = {},
  ): Promise<Answer<ResponseOf<Name>>> {
    const method = METHODS[name] as unknown as MethodDefinition<RequestOf<Name>, ResponseOf<Name>>;
    const bytes = method.requestSerialize(request);
    const answer = await this.send(method.path, bytes, metadata);
    return { response: method.responseDeserialize(answer.response), metadata: answer.metadata };
  }

  async ask<Name extends keyof Methods>(
    name: Name,
    request: RequestOf<Name>,
    metadata: Record<string, string> = {},
  ): Promise<ResponseOf<Name>> {
    return (await this.call(name, request, metadata)).response;
  }

  /** Code and message of an error; fails when there is none. */
  async refusal<Name extends keyof Methods>(
    name: Name,
    request: RequestOf<Name>,
    metadata: Record<string, string> = {},
  ): Promise<Refused> {
    return refusedOf(this.call(name, request, metadata));
  }

  /** Bytes as they are. */
  send(path: string, bytes: Buffer, fields: Record<string, string> = {}): Promise<Answer<Buffer>> {
    const metadata = new Metadata();
    for (const [key, value] of Object.entries(fields)) metadata.set(key, value);
    return new Promise((resolve, reject) => {
      let initial = new Metadata();
      const finish: requestCallback<Buffer> = (error, response = Buffer.alloc(0)) => {
        if (error === null) resolve({ response, metadata: initial });
        else reject(error);
      };
      const same = (given: Buffer): Buffer => given;
      const options = { deadline: Date.now() + CALL_DEADLINE_MS };
      const call = this.raw.makeUnaryRequest(path, same, same, bytes, metadata, options, finish);
      call.on("metadata", (received) => {
        initial = received;
      });
    });
  }

  /** A heartbeat of a ready node of 16 CPUs and 64 GiB with nothing on it, unless said otherwise. */
  async heartbeat(nodeId: string, fields: HeartbeatFields = {}): Promise<string> {
    return (await this.ask("heartbeat", heartbeatOf(nodeId, fields))).cpuConfigJson;
  }

  [Symbol.dispose](): void {
    this.raw.close();
  }
}

export function heartbeatOf(nodeId: string, { snapshot, machineInfo, ...more }: HeartbeatFields): HeartbeatRequest {
  const size = { status: 1, cpuCount: 16, memoryTotalBytes: 64n * 2n ** 30n } as const;
  return {
    ...HeartbeatRequest.create(),
    nodeId,
    serviceInstanceId: `${nodeId}-1`,
    snapshot: { ...NodeSnapshot.create(), ...size, ...snapshot },
    machineInfo: machineInfo === undefined ? undefined : { ...MachineInfo.create(), ...machineInfo },
    ...more,
  };
}

export async function refusedOf(call: Promise<unknown>): Promise<Refused> {
  try {
    await call;
  } catch (thrown) {
    const { code, details } = thrown as ServiceError;
    return { code, details };
  }
  throw new Error("it was not refused");
}

/** A creation of that size, as gateways send it. */
export function coldSandbox(cpuCount: number, memoryMb: number): RequestOf<"schedule"> {
  const value = { cpuCount, memoryMb: BigInt(memoryMb), images: [], metadata: {} };
  return { hint: { kind: { $case: "newColdSandbox", value } } };
}

export { status };
