import type { WireReservation } from "../messages/http/reservation.ts";
import { type ApiCommandOptions, runApiCommand } from "./api-client.ts";
import { formatBytes, formatCores } from "./figures.ts";
import { leaseOf } from "./reservations.ts";

export interface ScheduleWish {
  /** Null: nothing will be created. */
  readonly kind: "new_cold_sandbox" | "new_sandbox" | null;
  /** Null: unknown. */
  readonly cpuCount: number | null;
  readonly memoryMib: number | null;
  readonly requestId: string | null;
  readonly excludeNodeIds: readonly string[];
  readonly managed: boolean;
}

/** Prints the node that was picked, and what to do with its reservation. Returns the exit code. */
export function showSchedule(options: ApiCommandOptions, wish: ScheduleWish): Promise<number> {
  return runApiCommand(options, async (call) => {
    const answer = await call("schedule", { body: bodyOf(wish) });
    const { node, reservation } = answer;
    const lines = [
      ["node", node.node_id],
      ["endpoint", node.endpoint ?? "not known to the scheduler"],
      ...(reservation === null ? [["reserved", "nothing"]] : describe(reservation)),
    ];
    const page = lines.map(([name = "", value = ""]) => `${name.padEnd(11)}  ${value}`).join("\n");
    return { answer, page: reservation === null ? page : `${page}\n\n${nextSteps(reservation)}` };
  });
}

function bodyOf({ kind, cpuCount, memoryMib, requestId, excludeNodeIds, managed }: ScheduleWish): object {
  const demand = {
    ...(cpuCount === null ? {} : { cpu_count: cpuCount }),
    ...(memoryMib === null ? {} : { memory_mb: memoryMib }),
  };
  return {
    ...(kind === null ? {} : { hint: { [kind]: demand } }),
    ...(requestId === null ? {} : { request_id: requestId }),
    ...(excludeNodeIds.length === 0 ? {} : { exclude_node_ids: excludeNodeIds }),
    ...(managed ? {} : { managed: false }),
  };
}

function describe(reservation: WireReservation): string[][] {
  const { id, token, state, cpu, memory_bytes } = reservation;
  return [
    ["reservation", state === "pending" ? id : `${id}, ${state}`],
    ...(token ? [["token", token]] : []),
    ["charged", `${formatCores(cpu * 1000)}, ${formatBytes(memory_bytes)}`],
    ["lease", leaseOf(reservation, Date.parse(reservation.created_at))],
  ];
}

function nextSteps({ id, token }: WireReservation): string {
  if (!token)
    return `It is unmanaged: what the node reports ends it, or the lease does, or\n  $ npx evenkeel cancel ${id}`;
  return [
    "When the sandbox exists, confirm it; when it will not, cancel it:",
    `  $ npx evenkeel confirm ${token} SANDBOX_ID`,
    `  $ npx evenkeel cancel ${token}`,
  ].join("\n");
}
