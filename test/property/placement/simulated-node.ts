/**
 * A node that really holds sandboxes, with the habits of scheduler-v1.md: sums are read a moment before the roster, an
 * id enters both together at creation, before the counter and the CREATE event, and `sandbox_count` leaves out those
 * being created.
 */
import type { Heartbeat, SandboxEvents, SandboxEventType, SnapshotReport } from "../../../src/messages/nodes.ts";
import type { Amounts } from "./model/facts.ts";

export type Inventory = "roster" | "sums" | "ledger";

export interface Sandbox {
  readonly sandboxId: string;
  readonly size: Amounts;
  state: "starting" | "running" | "paused";
}

export interface NodeTraits {
  readonly nodeId: string;
  readonly inventory: Inventory;
  readonly capacity: Amounts;
  /** Whether reports carry a `sequence`; else the node's clock orders them. */
  readonly numbersReports: boolean;
  /** Whether `create_successes` is kept; without it nothing is acknowledged by aggregates. */
  readonly countsCreates: boolean;
  /** Whether the counters of a report are read after its sums, with the roster: then a success may outrun its sums. */
  readonly countsLate?: boolean;
}

export class SimulatedNode {
  readonly traits: NodeTraits;
  readonly sandboxes = new Map<string, Sandbox>();
  cpuPercent = 0;
  utilization = 0.1;
  #restarts = 0;
  #daemonRestarts = 0;
  #boots = 0;
  #sequence = 0;
  #daemonSequence = 0;
  #resourceSequence = 0;
  #createSuccesses = 0;
  #createFails = 0;
  #sums: SnapshotReport | null = null;

  constructor(traits: NodeTraits) {
    this.traits = traits;
  }

  get instance(): string {
    return `${this.traits.nodeId}-run-${this.#restarts}`;
  }

  get daemonInstance(): string {
    return `${this.traits.nodeId}-daemon-${this.#daemonRestarts}`;
  }

  /** What all sandboxes there hold, paused ones too. */
  get held(): Amounts {
    return this.#sum((_sandbox) => true);
  }

  start(sandboxId: string, size: Amounts): void {
    this.sandboxes.set(sandboxId, { sandboxId, size, state: "starting" });
  }

  /** The create has succeeded; null when there is nothing starting under that id. */
  finish(sandboxId: string): SandboxEvents | null {
    const sandbox = this.sandboxes.get(sandboxId);
    if (sandbox?.state !== "starting") return null;
    sandbox.state = "running";
    if (this.traits.countsCreates) this.#createSuccesses += 1;
    return this.#event("CREATE", sandbox);
  }

  fail(sandboxId: string): void {
    if (this.sandboxes.get(sandboxId)?.state !== "starting") return;
    this.sandboxes.delete(sandboxId);
    if (this.traits.countsCreates) this.#createFails += 1;
  }

  remove(sandboxId: string): SandboxEvents | null {
    const sandbox = this.sandboxes.get(sandboxId);
    if (sandbox === undefined) return null;
    this.sandboxes.delete(sandboxId);
    return this.#event("DELETE", sandbox);
  }

  pauseOrResume(sandboxId: string): SandboxEvents | null {
    const sandbox = this.sandboxes.get(sandboxId);
    if (sandbox === undefined || sandbox.state === "starting") return null;
    const pauses = sandbox.state === "running";
    sandbox.state = pauses ? "paused" : "running";
    return this.#event(pauses ? "PAUSE" : "RESUME", sandbox);
  }

  fork(sandboxId: string, childId: string): SandboxEvents | null {
    const parent = this.sandboxes.get(sandboxId);
    if (parent?.state !== "running") return null;
    const child: Sandbox = { sandboxId: childId, size: parent.size, state: "running" };
    this.sandboxes.set(childId, child);
    return this.#event("FORK", child);
  }

  /** The runtime starts again: counters are reset; its sandboxes may outlive it. */
  restart(keepsSandboxes: boolean): void {
    this.#restarts += 1;
    this.#sequence = 0;
    this.#createSuccesses = 0;
    this.#createFails = 0;
    this.#sums = null;
    if (!keepsSandboxes) this.sandboxes.clear();
    for (const sandbox of this.sandboxes.values()) if (sandbox.state === "starting") sandbox.state = "running";
  }

  /** Counters fall without a new instance, as when one id is configured for good. */
  resetCounters(): void {
    this.#createSuccesses = 0;
    this.#createFails = 0;
  }

  restartDaemon(): void {
    this.#daemonRestarts += 1;
    this.#daemonSequence = 0;
    this.#resourceSequence = 0;
  }

  /** The machine starts again: nothing that ran is left. */
  reboot(): void {
    this.#boots += 1;
    this.restart(false);
    this.restartDaemon();
  }

  /** Reads the sums that the next report will carry; what happens from now on is in its roster only. */
  readSums(unixMs: number): void {
    const active = this.#sum(({ state }) => state !== "paused");
    const paused = this.#sum(({ state }) => state === "paused");
    const count = (state: Sandbox["state"]): number =>
      [...this.sandboxes.values()].filter((sandbox) => sandbox.state === state).length;
    this.#sums = {
      status: "READY",
      allocatedCpuMillicores: active.cpu,
      allocatedMemoryBytes: active.memory,
      cpuPercent: this.cpuPercent,
      cpuCapacityMillicores: this.traits.capacity.cpu,
      memoryUsedBytes: Math.floor(active.memory / 2),
      memoryCapacityBytes: this.traits.capacity.memory,
      sandboxCount: count("running"),
      sandboxStartingCount: count("starting"),
      createSuccesses: this.#createSuccesses,
      createFails: this.#createFails,
      reportedAtUnixMs: this.traits.numbersReports ? null : unixMs,
      pausedSandboxCount: count("paused"),
      pausedAllocatedCpuMillicores: paused.cpu,
      pausedAllocatedMemoryBytes: paused.memory,
      disks: [],
    };
  }

  /** A report of the runtime, with the sums read before, or read now. `set` overrides what the sums say. */
  report(unixMs: number, set: Partial<SnapshotReport> = {}): Heartbeat {
    if (this.#sums === null) this.readSums(unixMs);
    const sums = this.#sums;
    this.#sums = null;
    const late = this.traits.countsLate === true;
    const counters = late ? { createSuccesses: this.#createSuccesses, createFails: this.#createFails } : {};
    return {
      ...this.#heartbeat(this.instance, ++this.#sequence),
      snapshot: sums === null ? null : { ...sums, ...counters, ...set },
      sandboxIds: this.traits.inventory === "roster" ? [...this.sandboxes.keys()] : null,
    };
  }

  /** A report of the daemon. `isNew`: with an observation made since the last one. */
  daemonReport(isNew: boolean): Heartbeat {
    if (isNew) this.#resourceSequence += 1;
    const isLedger = this.traits.inventory === "ledger";
    return {
      ...this.#heartbeat(this.daemonInstance, ++this.#daemonSequence),
      endpoint: isLedger ? null : this.endpoint,
      resource: {
        cpuCapacityMillicores: this.traits.capacity.cpu,
        memoryCapacityBytes: this.traits.capacity.memory,
        utilization: { cpu: this.utilization, memory: this.utilization / 2, pid: null, fd: null, disk: null },
      },
      resourceSequence: this.#resourceSequence,
      bootId: `${this.traits.nodeId}-boot-${this.#boots}`,
      inventoryNone: isLedger,
    };
  }

  get endpoint(): string {
    return `http://${this.traits.nodeId}:8080`;
  }

  #heartbeat(serviceInstanceId: string, sequence: number): Heartbeat {
    return {
      type: "heartbeat",
      nodeId: this.traits.nodeId,
      endpoint: this.endpoint,
      clusterId: null,
      version: null,
      serviceInstanceId,
      sequence: this.traits.numbersReports ? sequence : null,
      snapshot: null,
      sandboxIds: null,
      resource: null,
      resourceSequence: null,
      bootId: null,
      inventoryNone: false,
    };
  }

  #event(eventType: SandboxEventType, { sandboxId, size }: Sandbox): SandboxEvents | null {
    if (this.traits.inventory === "ledger") return null;
    const requested = { requestedCpuMillicores: size.cpu, requestedMemoryBytes: size.memory };
    return {
      type: "sandbox_events",
      nodeId: this.traits.nodeId,
      serviceInstanceId: this.instance,
      events: [{ sandboxId, eventType, ...requested }],
    };
  }

  #sum(isIn: (sandbox: Sandbox) => boolean): Amounts {
    const sizes = [...this.sandboxes.values()].filter(isIn).map(({ size }) => size);
    return {
      cpu: sizes.reduce((sum, { cpu }) => sum + cpu, 0),
      memory: sizes.reduce((sum, { memory }) => sum + memory, 0),
    };
  }
}
