/** What gateways ask, as messages to the placement actor. */
import type { Metadata } from "@grpc/grpc-js";
import { BYTES_PER_MIB, MEMORY_MIB_MAX } from "../../../messages/http/schedule.ts";
import type { RecordAssignment, Schedule } from "../../../messages/placement.ts";
import type {
  RecordAssignmentRequest,
  ScheduleRequest,
  ScheduleRequestHint,
} from "../../../messages/proto/generated/scheduler/v1/scheduler.ts";
import { BorderRefusal, exactAmount, identifier, part } from "./border.ts";

/** Request metadata of `Schedule`: whether the caller closes its reservation by token, and the name of this attempt. */
const MANAGED = "evenkeel-managed";
const REQUEST_ID = "evenkeel-request-id";

/** `credential` is an opaque name of whoever sent it: request ids are scoped to it. */
export function scheduleMessage({ hint }: ScheduleRequest, metadata: Metadata, credential: string): Schedule {
  const requestId = oneText(metadata, REQUEST_ID);
  return {
    type: "schedule",
    ...demandOf(hint?.kind),
    requestId: requestId === null ? null : identifier(requestId, REQUEST_ID),
    credential,
    excludeNodeIds: [],
    managed: managedOf(oneText(metadata, MANAGED)),
  };
}

function demandOf(kind: ScheduleRequestHint["kind"]): Pick<Schedule, "hint" | "cpuMillicores" | "memoryBytes"> {
  if (kind === undefined) return { hint: "none", cpuMillicores: null, memoryBytes: null };
  if (kind.$case === "newSandbox") return { hint: "new_sandbox", cpuMillicores: null, memoryBytes: null };
  const { cpuCount, memoryMb } = kind.value;
  const memoryMib = exactAmount(memoryMb, "hint.new_cold_sandbox.memory_mb", MEMORY_MIB_MAX);
  return {
    hint: "new_cold_sandbox",
    cpuMillicores: cpuCount === 0 ? null : cpuCount * 1000,
    memoryBytes: memoryMib === 0 ? null : memoryMib * BYTES_PER_MIB,
  };
}

/** Old gateways know no token, so that unmanaged is what goes without saying. */
function managedOf(said: string | null): boolean {
  if (said === "1" || said === "true") return true;
  if (said === null || said === "0" || said === "false") return false;
  throw new BorderRefusal(MANAGED, "must be 1 or 0");
}

function oneText(metadata: Metadata, key: string): string | null {
  const [value, ...others] = metadata.get(key);
  if (others.length > 0) throw new BorderRefusal(key, "is given twice");
  return value === undefined ? null : String(value);
}

export function recordAssignmentMessage(request: RecordAssignmentRequest): RecordAssignment {
  const sandboxId = identifier(request.sandboxId, "sandbox_id");
  const node = part(request.node, "node");
  return {
    type: "record_assignment",
    sandboxId,
    nodeId: identifier(node.nodeId, "node.node_id"),
    endpoint: node.endpoint,
  };
}
