import type { Amounts } from "../actors/load/played-node.ts";
import type { Schedule } from "../messages/placement.ts";

/** The request for a new sandbox of these amounts, on any node: a first attempt, whose reservation will be closed. */
export function creationOf({ cpuMillicores, memoryBytes }: Amounts): Schedule {
  return {
    type: "schedule",
    hint: "new_cold_sandbox",
    cpuMillicores,
    memoryBytes,
    requestId: null,
    credential: "simulation",
    excludeNodeIds: [],
    managed: true,
  };
}
