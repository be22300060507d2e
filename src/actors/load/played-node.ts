/**
 * A node as its own runtime would see it: the sandboxes that are really there, and the reports it makes of them. It
 * knows nothing of reservations, so its sums are a truth that the scheduler's can be held against.
 */
import type { Heartbeat, SnapshotReport } from "../../messages/nodes.ts";

/** What a node has or a sandbox takes. */
export interface Amounts {
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
}

export interface NodeTerms {
  readonly nodeId: string;
  readonly endpoint: string;
  readonly serviceInstanceId: string;
  readonly capacity: Amounts;
}

export class PlayedNode {
  readonly terms: NodeTerms;
  readonly #sandboxes = new Map<string, Amounts>();
  #cpuMillicores = 0;
  #memoryBytes = 0;
  #createSuccesses = 0;
  #sequence = 0;

  constructor(terms: NodeTerms) {
    this.terms = terms;
  }

  get allocated(): Amounts {
    return { cpuMillicores: this.#cpuMillicores, memoryBytes: this.#memoryBytes };
  }

  get sandboxCount(): number {
    return this.#sandboxes.size;
  }

  /** A create has succeeded. Nothing happens when the id is there already. */
  create(sandboxId: string, amounts: Amounts): void {
    if (this.#sandboxes.has(sandboxId)) return;
    this.#sandboxes.set(sandboxId, amounts);
    this.#cpuMillicores += amounts.cpuMillicores;
    this.#memoryBytes += amounts.memoryBytes;
    this.#createSuccesses += 1;
  }

  /** What the sandbox took; null when it is not there. */
  delete(sandboxId: string): Amounts | null {
    const amounts = this.#sandboxes.get(sandboxId);
    if (amounts === undefined) return null;
    this.#sandboxes.delete(sandboxId);
    this.#cpuMillicores -= amounts.cpuMillicores;
    this.#memoryBytes -= amounts.memoryBytes;
    return amounts;
  }

  /** Every sandbox ends. */
  clear(): void {
    for (const sandboxId of [...this.#sandboxes.keys()]) this.delete(sandboxId);
  }

  /** The next report: sums and roster of one moment. */
  heartbeat(): Heartbeat {
    this.#sequence += 1;
    const { nodeId, endpoint, serviceInstanceId } = this.terms;
    return {
      type: "heartbeat",
      nodeId,
      endpoint,
      clusterId: null,
      version: null,
      serviceInstanceId,
      sequence: this.#sequence,
      snapshot: this.#snapshot(),
      sandboxIds: [...this.#sandboxes.keys()],
      resource: null,
      resourceSequence: null,
      bootId: null,
      inventoryNone: false,
    };
  }

  #snapshot(): SnapshotReport {
    const { capacity } = this.terms;
    return {
      status: "READY",
      allocatedCpuMillicores: this.#cpuMillicores,
      allocatedMemoryBytes: this.#memoryBytes,
      cpuPercent: 0,
      cpuCapacityMillicores: capacity.cpuMillicores,
      memoryUsedBytes: 0,
      memoryCapacityBytes: capacity.memoryBytes,
      sandboxCount: this.#sandboxes.size,
      sandboxStartingCount: 0,
      createSuccesses: this.#createSuccesses,
      createFails: 0,
      reportedAtUnixMs: null,
      pausedSandboxCount: 0,
      pausedAllocatedCpuMillicores: 0,
      pausedAllocatedMemoryBytes: 0,
      disks: [],
    };
  }
}
