import { EventEmitter } from "eventemitter3";
import type { DirectoryMessage } from "../../../src/actors/directory/client.ts";
import { ActorSystem } from "../../../src/actors/kernel/system.ts";
import { placementActor } from "../../../src/actors/placement/actor.ts";
import {
  createPlacementClient,
  type PlacementActorMessage,
  type PlacementEvents,
  type PlacementReplies,
} from "../../../src/actors/placement/client.ts";
import { defaultPlacementConfig, type PlacementConfig } from "../../../src/actors/placement/config.ts";
import type { EventLog } from "../../../src/actors/placement/event-log.ts";
import type { Heartbeat } from "../../../src/messages/nodes.ts";
import type { PlacementMessage, ReplyTo, Schedule } from "../../../src/messages/placement.ts";
import { type Random, seededRandom } from "../../../src/ports/random.ts";
import { fakeClock, turns } from "../../fakes/clock.ts";
import { recordingLog } from "../../fakes/log.ts";

export interface RunningPlacementOptions {
  readonly log: EventLog;
  readonly config?: Partial<PlacementConfig>;
  readonly random?: Random;
  readonly mailboxCapacity?: number;
  readonly waitingMax?: number;
}

/** The placement actor in a system of its own, on a clock that the test steps. */
export function startPlacement({
  log,
  config = {},
  random = seededRandom(1),
  mailboxCapacity,
  waitingMax = 10_000,
}: RunningPlacementOptions) {
  const clock = fakeClock();
  const system = new ActorSystem({ clock, random, logFor: () => recordingLog() });
  const events = new EventEmitter<PlacementEvents>();
  const routed: DirectoryMessage[] = [];
  const reference = system.spawnLocal<PlacementActorMessage, PlacementReplies>(
    "placement",
    placementActor({
      config: { ...defaultPlacementConfig, ...config },
      log,
      events,
      waitingMax,
      directory: {
        tell: (message) => {
          routed.push(message);
          return null;
        },
        ask: async () => ({ ok: true, value: { nodeId: null } }) as never,
      },
    }),
    { onFailure: "resume", ...(mailboxCapacity === undefined ? {} : { mailboxCapacity }) },
  );
  const client = createPlacementClient(reference, clock);
  /** Asks, and gives the reply once it is there; null when it still waits after some turns of the event loop. */
  const ask = async <M extends PlacementMessage>(message: M): Promise<ReplyTo<M["type"]> | null> => {
    let reply: ReplyTo<M["type"]> | null = null;
    client.ask(message).then((answered) => {
      reply = answered;
    });
    await turns(4);
    return reply;
  };
  return { clock, system, events, routed, client, ask };
}

/** A node of 8 cores and 32 GiB; its sums contain `sandboxIds` at 2 cores and 4 GiB each. */
export function heartbeatOf(nodeId: string, sandboxIds: readonly string[] = []): Heartbeat {
  return {
    type: "heartbeat",
    nodeId,
    endpoint: `http://${nodeId}`,
    clusterId: null,
    version: null,
    serviceInstanceId: `${nodeId}-1`,
    sequence: null,
    snapshot: {
      status: "READY",
      allocatedCpuMillicores: 2_000 * sandboxIds.length,
      allocatedMemoryBytes: 4 * 2 ** 30 * sandboxIds.length,
      cpuPercent: 0,
      cpuCapacityMillicores: 8_000,
      memoryUsedBytes: 0,
      memoryCapacityBytes: 32 * 2 ** 30,
      sandboxCount: sandboxIds.length,
      sandboxStartingCount: 0,
      createSuccesses: sandboxIds.length,
      createFails: 0,
      reportedAtUnixMs: null,
      pausedSandboxCount: 0,
      pausedAllocatedCpuMillicores: 0,
      pausedAllocatedMemoryBytes: 0,
      disks: [],
    },
    sandboxIds,
    resource: null,
    resourceSequence: null,
    bootId: null,
    inventoryNone: false,
  };
}

/** 2 cores and 4 GiB. */
export function scheduleOf(requestId: string | null = null): Schedule {
  return {
    type: "schedule",
    hint: "new_cold_sandbox",
    cpuMillicores: 2_000,
    memoryBytes: 4 * 2 ** 30,
    requestId,
    credential: "anybody",
    excludeNodeIds: [],
    managed: true,
  };
}
