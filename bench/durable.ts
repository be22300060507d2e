/**
 * What durability costs: schedule + confirm per second over real HTTP with a journal on this disk and in memory only, in
 * turns, and how long a start takes to replay 100 000 live reservations.
 *
 * Workload: as many kept connections as clients, each with one request at a time; a schedule of 2 CPUs and 2 GiB on one
 * of 10 nodes, then the confirm of it with a new sandbox id. Between rounds, not timed, the sandboxes are deleted and
 * the nodes report.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compact } from "../src/actors/journal/compaction.ts";
import { JournalStore } from "../src/actors/journal/store.ts";
import { defaultPlacementConfig } from "../src/actors/placement/config.ts";
import { type EventLog, type LogEntry, placementEventsOf } from "../src/actors/placement/event-log.ts";
import type { PlacementEvent } from "../src/actors/placement/events.ts";
import { snapshotOf } from "../src/actors/placement/journal-snapshot.ts";
import { createPlacement } from "../src/actors/placement/state.ts";
import { systemClock } from "../src/ports/clock.ts";
import { seededRandom } from "../src/ports/random.ts";
import { createActorSystem } from "../src/programs/actor-system.ts";
import { openEventLog } from "../src/programs/event-log.ts";
import { createLogger } from "../src/programs/logging.ts";
import { ChildServer } from "./child-server.ts";
import { inTurns, median, print } from "./measuring.ts";
import { PairLoad } from "./pair-load.ts";

/** Clients, and pairs of requests in a round: about as long each. */
const SIZES = [
  { clients: 1, pairs: 100 },
  { clients: 64, pairs: 2_000 },
  { clients: 512, pairs: 4_000 },
];
const ROUNDS = 5;
const WARM_UPS = 2;
const NODES = 10;
const LIVE = 100_000;

let rounds = 0;

/** Pairs per second of one round. */
async function round({ url }: ChildServer, { clients, pairs }: { clients: number; pairs: number }): Promise<number> {
  rounds += 1;
  const load = new PairLoad(url, { connections: clients, name: `round-${rounds}` });
  await load.reportNodes(NODES);
  const { totalMs } = await load.schedule(pairs);
  await load.deleteSandboxes();
  load.close();
  return (pairs * 1000) / totalMs;
}

/** A journal of `LIVE` pending reservations on 20 nodes, as they were made. */
function writeLive(directory: string): void {
  const now = { nowMs: 0, wallMs: systemClock.wallMs() };
  const placement = createPlacement({ ...defaultPlacementConfig }, { random: seededRandom(1) }, now);
  const store = new JournalStore(join(directory, "journal.sqlite"));
  let batch: PlacementEvent[] = [];
  const commit = (): void => {
    store.append({ entries: batch.length, body: JSON.stringify(batch) });
    batch = [];
  };
  for (let count = 0; count < LIVE; count++) {
    if (count % 5_000 === 0) batch.push(...placement.handle(largeNode(`live-${count / 5_000}`), now).events);
    batch.push(...placement.handle(oneCpu(`request-${count}`), now).events);
    if (batch.length >= 64) commit();
  }
  commit();
  store.close();
}

function largeNode(nodeId: string) {
  const none = { createSuccesses: 0, createFails: 0, reportedAtUnixMs: null, disks: [] };
  const paused = { pausedSandboxCount: 0, pausedAllocatedCpuMillicores: 0, pausedAllocatedMemoryBytes: 0 };
  const capacity = { cpuCapacityMillicores: 1e9, memoryCapacityBytes: 2 ** 50, cpuPercent: 0, memoryUsedBytes: 0 };
  const allocated = { allocatedCpuMillicores: 0, allocatedMemoryBytes: 0, sandboxCount: 0, sandboxStartingCount: 0 };
  return {
    ...({ type: "heartbeat", nodeId, endpoint: "live.example:443", clusterId: null, version: null } as const),
    ...{ serviceInstanceId: "instance", sequence: null, sandboxIds: [], resource: null, resourceSequence: null },
    ...{ bootId: null, inventoryNone: false },
    snapshot: { status: "READY" as const, ...allocated, ...capacity, ...paused, ...none },
  };
}

function oneCpu(requestId: string) {
  const demand = { cpuMillicores: 1_000, memoryBytes: 2 ** 30 };
  const caller = { requestId, credential: "bench", excludeNodeIds: [], managed: true };
  return { type: "schedule", hint: "new_cold_sandbox", ...demand, ...caller } as const;
}

interface Replay {
  readonly checkMs: number;
  readonly replayMs: number;
  readonly fileBytes: number;
}

/** What a scheduler does at its start: checks every row, reads them across the threads, and replays them. */
async function replay(directory: string): Promise<Replay> {
  const log = await createLogger({ logLevel: "silent", logFormat: "json" });
  const system = createActorSystem(log);
  const startMs = systemClock.monotonicMs();
  const opened = await openEventLog(system, directory, log);
  if ("refusal" in opened) throw new Error(opened.refusal);
  const checkedMs = systemClock.monotonicMs();
  const entries = await read(opened.eventLog);
  const now = { nowMs: 0, wallMs: systemClock.wallMs() };
  const placement = createPlacement(defaultPlacementConfig, { random: seededRandom(1) }, now);
  placement.replay(placementEventsOf(entries), now);
  const endMs = systemClock.monotonicMs();
  const live = placement.core.ledger.leases.size;
  if (live !== LIVE) throw new Error(`${live} reservations live, not ${LIVE}`);
  await system.stop(5_000);
  const fileBytes = statSync(join(directory, "journal.sqlite")).size;
  return { checkMs: checkedMs - startMs, replayMs: endMs - checkedMs, fileBytes };
}

function read(log: EventLog): Promise<readonly LogEntry[]> {
  return new Promise((resolve, reject) => {
    if (log.read === null) return reject(new Error("nothing is kept"));
    log.read((content) => (content.ok ? resolve([...content.entries]) : reject(new Error(content.reason))));
  });
}

const folder = mkdtempSync(join(tmpdir(), "evenkeel-bench-"));
const servers = {
  memory: await ChildServer.startScheduler(),
  journal: await ChildServer.startScheduler(join(folder, "state")),
};
const kinds = ["memory", "journal"] as const;
const contenders = SIZES.flatMap((size) =>
  kinds.map((kind) => ({ name: `${kind} ${size.clients}`, round: () => round(servers[kind], size) })),
);
const results = await inTurns(contenders, { rounds: ROUNDS, warmUps: WARM_UPS });
for (const kind of kinds) await servers[kind].stop();

const live = mkdtempSync(join(folder, "live-"));
writeLive(live);
const history = await replay(live);
const store = new JournalStore(join(live, "journal.sqlite"));
for (const _ of compact(store, snapshotOf));
store.close();
const snapshot = await replay(live);
rmSync(folder, { recursive: true, force: true });

const perSecond = (kind: string, clients: number): number => median(results.get(`${kind} ${clients}`) ?? []);
const share = (clients: number): string => (perSecond("journal", clients) / perSecond("memory", clients)).toFixed(2);
const totalMs = ({ checkMs, replayMs }: Replay): number => Math.round(checkMs + replayMs);
const replayed = ({ checkMs, replayMs, fileBytes }: Replay): string =>
  `${Math.round(checkMs)} ms of checks and ${Math.round(replayMs)} ms of replay, ${Math.round(fileBytes / 2 ** 20)} MiB`;
print("bench:durable", {
  workload: [
    `schedule + confirm of 2 CPUs and 2 GiB on ${NODES} nodes, medians of ${ROUNDS} rounds in turns.`,
    `${LIVE} live reservations: from their history ${replayed(history)}; from a snapshot ${replayed(snapshot)}.`,
  ],
  header: ["CLIENTS", "MEMORY pairs/s", "JOURNAL pairs/s", "OF MEMORY"],
  rows: SIZES.map(({ clients }) => [
    String(clients),
    String(Math.round(perSecond("memory", clients))),
    String(Math.round(perSecond("journal", clients))),
    share(clients),
  ]),
  figures: {
    ...Object.fromEntries(SIZES.map(({ clients }) => [`of_memory_${clients}`, share(clients)])),
    replay_history_ms: totalMs(history),
    replay_snapshot_ms: totalMs(snapshot),
  },
});
