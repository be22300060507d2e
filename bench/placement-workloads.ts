/** The fleets and requests that bench:placement measures. Seeded, so that every run has the same ones. */
import type { Heartbeat } from "../src/messages/nodes.ts";
import type { Schedule } from "../src/messages/placement.ts";
import { seededRandom } from "../src/ports/random.ts";

const GIB = 2 ** 30;

/** Of one node, in whole CPUs and GiB. */
export interface Size {
  readonly cpu: number;
  readonly memory: number;
  readonly allocatedCpu: number;
  readonly allocatedMemory: number;
}

export interface Workload {
  readonly name: string;
  readonly about: string;
  /** The node of this position, the same at every call. */
  sizeOf(position: number): Size;
  /** The next request. */
  request(): Schedule;
}

function creation(cpu: number, memory: number): Schedule {
  return {
    type: "schedule",
    hint: "new_cold_sandbox",
    cpuMillicores: Math.round(cpu * 1000),
    memoryBytes: Math.round(memory * 1024) * 2 ** 20,
    requestId: null,
    credential: "bench",
    excludeNodeIds: [],
    managed: true,
  };
}

const TWO_CPUS = creation(2, 2);
const BIG = { cpu: 192, memory: 2048 };
const CAPACITIES = [
  { cpu: 16, memory: 64 },
  { cpu: 32, memory: 256 },
  { cpu: 64, memory: 256 },
  { cpu: 96, memory: 768 },
  { cpu: 128, memory: 512 },
  BIG,
] as const;
const SHAPES = [1, 2, 4].flatMap((cpu) => [1, 2, 4, 8].map((memory) => creation(cpu, memory)));
const MANY_SHAPES = [1, 2, 3, 4, 6].flatMap((cpu) => [1, 2, 3, 4, 6, 8, 12, 16].map((memory) => creation(cpu, memory)));

/** A ratio that looks random and belongs to the position. */
function scattered(position: number, salt: number): number {
  return seededRandom(position * 2 + salt).fraction();
}

function heterogeneous(position: number): Size {
  const capacity = CAPACITIES[position % CAPACITIES.length] ?? BIG;
  return {
    ...capacity,
    allocatedCpu: Math.floor(capacity.cpu * scattered(position, 0) * 0.8),
    allocatedMemory: Math.floor(capacity.memory * scattered(position, 1) * 0.8),
  };
}

/** In the order of the table; the first is the one of the request that began this project. */
export function workloads(): Workload[] {
  const chance = seededRandom(20_261_130);
  const anyShape = (): Schedule => creation(4 * (0.2 + 1.6 * chance.fraction()), 0.6 + 0.8 * chance.fraction());
  let turn = 0;
  return [
    {
      name: "request's own",
      about: "192 CPUs and 2 TiB, node i with i mod 160 CPUs and i mod 1800 GiB allocated; 2 CPUs and 2 GiB each",
      sizeOf: (position) => ({ ...BIG, allocatedCpu: position % 160, allocatedMemory: position % 1800 }),
      request: () => TWO_CPUS,
    },
    {
      name: "heterogeneous",
      about: "six sizes of nodes, up to 80 % allocated; 12 shapes of requests, 1 to 4 CPUs and 1 to 8 GiB, in turn",
      sizeOf: heterogeneous,
      request: () => SHAPES[turn++ % SHAPES.length] ?? TWO_CPUS,
    },
    {
      name: "all equal",
      about: "192 CPUs and 2 TiB, idle, so that all tie; 2 CPUs and 2 GiB each",
      sizeOf: () => ({ ...BIG, allocatedCpu: 0, allocatedMemory: 0 }),
      request: () => TWO_CPUS,
    },
    {
      name: "nearly full",
      about: "192 CPUs and 2 TiB, full but for one node in ten, which has 128 CPUs left; 2 CPUs and 2 GiB each",
      sizeOf: (position) => ({ ...BIG, allocatedCpu: position % 10 === 7 ? 64 : 191, allocatedMemory: 0 }),
      request: () => TWO_CPUS,
    },
    {
      name: "many shapes",
      about: "nodes as in heterogeneous; 40 shapes of requests, 1 to 6 CPUs and 1 to 16 GiB, in turn",
      sizeOf: heterogeneous,
      request: () => MANY_SHAPES[turn++ % MANY_SHAPES.length] ?? TWO_CPUS,
    },
    {
      name: "any shape",
      about: "nodes as in heterogeneous; every request another shape, 4 CPUs ± 80 % and 1 GiB ± 40 %",
      sizeOf: heterogeneous,
      request: anyShape,
    },
    {
      name: "equal, any shape",
      about: "nodes as in all equal, requests as in any shape",
      sizeOf: () => ({ ...BIG, allocatedCpu: 0, allocatedMemory: 0 }),
      request: anyShape,
    },
  ];
}

export interface Report {
  readonly position: number;
  readonly sequence: number;
  /** What runs there beside what the workload says. */
  readonly sandboxes: readonly { readonly id: string; readonly request: Schedule }[];
}

export function heartbeatOf(workload: Workload, { position, sequence, sandboxes }: Report): Heartbeat {
  const nodeId = `n${position}`;
  const { cpu, memory, allocatedCpu, allocatedMemory } = workload.sizeOf(position);
  const sum = (of: (request: Schedule) => number | null): number =>
    sandboxes.reduce((total, { request }) => total + (of(request) ?? 0), 0);
  return {
    type: "heartbeat",
    nodeId,
    endpoint: `${nodeId}.example:443`,
    clusterId: null,
    version: null,
    serviceInstanceId: "instance",
    sequence,
    snapshot: {
      status: "READY",
      allocatedCpuMillicores: allocatedCpu * 1000 + sum(({ cpuMillicores }) => cpuMillicores),
      allocatedMemoryBytes: allocatedMemory * GIB + sum(({ memoryBytes }) => memoryBytes),
      cpuPercent: 0,
      cpuCapacityMillicores: cpu * 1000,
      memoryUsedBytes: 0,
      memoryCapacityBytes: memory * GIB,
      sandboxCount: sandboxes.length,
      sandboxStartingCount: 0,
      createSuccesses: sequence,
      createFails: 0,
      reportedAtUnixMs: null,
      pausedSandboxCount: 0,
      pausedAllocatedCpuMillicores: 0,
      pausedAllocatedMemoryBytes: 0,
      disks: [],
    },
    sandboxIds: sandboxes.map(({ id }) => id),
    resource: null,
    resourceSequence: null,
    bootId: null,
    inventoryNone: false,
  };
}
