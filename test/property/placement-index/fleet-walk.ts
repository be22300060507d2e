/**
 * Plays steps to a placement core, and compares at every one what the index would choose, and the reasons that it would
 * give, with those of the scan.
 */
import { type Demand, demandOf, type Rules } from "../../../src/actors/placement/candidates.ts";
import { rulesAt } from "../../../src/actors/placement/core.ts";
import type { PlacementEvent } from "../../../src/actors/placement/events.ts";
import { type Dropped, droppedOf } from "../../../src/actors/placement/no-nodes.ts";
import { selectByScan } from "../../../src/actors/placement/plain-scan.ts";
import { findStrategy } from "../../../src/actors/placement/ranking/strategy.ts";
import { createPlacement, type Placement } from "../../../src/actors/placement/state.ts";
import type { Heartbeat } from "../../../src/messages/nodes.ts";
import type { PlacementMessage, ReservationView, Schedule } from "../../../src/messages/placement.ts";
import { type Random, seededRandom } from "../../../src/ports/random.ts";
import { type Body, type Fleet, nodeIdOf, oddShape, SHAPES, type Shape, type Step } from "./fleets.ts";

const GIB = 2 ** 30;
const WALL_AHEAD_MS = 1_700_000_000_000;
/** More than the index wants to see of a shape before it gives it a tree of its own. */
const FAVOURING = 20;
const PAUSES_MS = [1, 900, 5_000, 10_000, 19_000];

export class FleetWalk {
  readonly #fleet: Fleet;
  readonly #bodies: Body[];
  readonly #made: ReservationView[] = [];
  readonly #events: PlacementEvent[] = [];
  /** Sandboxes confirmed on each node, for its roster. */
  readonly #rosters = new Map<string, string[]>();
  #nowMs = 1_000_000;
  #sequence = 0;
  #sandboxes = 0;
  /** Seeds chance, since each process draws names of its own. */
  #processes = 0;
  /** The next draw, the same for index and scan. */
  #fraction = 0;
  #favourite: Shape = SHAPES[0];
  /** Selections compared. */
  compared = 0;

  #placement: Placement;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
    this.#bodies = [...fleet.bodies];
    this.#placement = this.#newPlacement();
    for (const at of this.#bodies.keys()) this.#report(at);
  }

  /** A difference in words; null where index and scan agree. */
  take(step: Step): string | null {
    this.#do(step);
    this.#fraction = (step.which * 7 + step.what) / 8_000;
    for (const shape of [SHAPES[step.what % SHAPES.length], this.#favourite, oddShape(step)]) {
      const difference = shape === undefined ? null : this.#compare({ ...this.#request(step), ...shape });
      if (difference !== null) return difference;
    }
    return this.#compare({ ...this.#request(step), hint: "none" });
  }

  #compare(request: Schedule): string | null {
    const { core } = this.#placement;
    const strategy = findStrategy(core.config.strategy);
    if (strategy === undefined) return "no such strategy";
    const rules = rulesAt(core, this.#nowMs);
    const demand = demandOf(request);
    const context = { config: core.config, nowMs: this.#nowMs, random: this.#chance(1) };
    const selection = { demand, rules, strategy, context };
    const chosen = core.index.select(demand, rules);
    const expected = selectByScan(core.fleet.nodes.values(), selection);
    this.compared += 1;
    if (chosen === expected) return this.#compareReasons(demand, rules);
    const ids = `the index chose ${chosen?.nodeId ?? "none"}, the scan ${expected?.nodeId ?? "none"}`;
    return `${JSON.stringify(request)}: ${ids}`;
  }

  /** Also where there is a candidate, which is then among nobody's reasons. */
  #compareReasons(demand: Demand, rules: Rules): string | null {
    const { index, fleet } = this.#placement.core;
    const counted = sortedWords(index.dropped(demand, rules));
    const expected = sortedWords(droppedOf(fleet.nodes.values(), demand, rules));
    return counted === expected ? null : `the tally counts ${counted}, the scan ${expected}`;
  }

  #newPlacement(): Placement {
    const now = { nowMs: this.#nowMs, wallMs: this.#nowMs + WALL_AHEAD_MS };
    return createPlacement(this.#fleet.config, { random: this.#chance(++this.#processes) }, now);
  }

  #chance(seed: number): Random {
    const seeded = seededRandom(seed);
    return { fraction: () => this.#fraction, bytes: (count) => seeded.bytes(count) };
  }

  #send(message: PlacementMessage): ReservationView | null {
    const now = { nowMs: this.#nowMs, wallMs: this.#nowMs + WALL_AHEAD_MS };
    const { reply, events, notices } = this.#placement.handle(message, now);
    this.#events.push(...events);
    for (const notice of notices) if (notice.type === "handler_failed") throw new Error(notice.message);
    return reply.ok && "reservation" in reply.answer ? reply.answer.reservation : null;
  }

  #do({ kind, which, what }: Step): void {
    const at = which % Math.max(1, this.#bodies.length);
    const nodeId = nodeIdOf(at);
    const made = this.#made[which % Math.max(1, this.#made.length)];
    switch (kind) {
      case "schedule":
      case "hintless":
      case "exclude":
        return this.#schedule({ kind, which, what });
      case "favour":
        return this.#favour(SHAPES[what % SHAPES.length] ?? oddShape({ which, what }));
      case "cancel":
        if (made !== undefined) this.#send({ type: "cancel", handle: made.id, reason: null });
        return;
      case "fail":
        return this.#fail(what);
      case "confirm":
        if (made !== undefined) this.#confirm(made);
        return;
      case "report":
        this.#bodies[at] = { ...(this.#bodies[at] ?? NOTHING), ...REPORTED[what % REPORTED.length] };
        return this.#report(at);
      case "lingering":
        return this.#report(at, { lingering: true });
      case "settle":
        return this.#report(at, { roster: true });
      case "daemon":
      case "ledger":
        return this.#daemon(nodeId, what, kind === "ledger");
      case "pass":
        this.#nowMs += PAUSES_MS[what % PAUSES_MS.length] ?? 1;
        return;
      case "silence":
        // Those that report right before it stay.
        for (let other = 0; other < what % 5; other++) this.#report((at + other) % Math.max(1, this.#bodies.length));
        this.#nowMs += 29_000 + (what % 3) * 1_000;
        return;
      case "tick":
        this.#send({ type: "tick" });
        return;
      case "stall":
        this.#send({ type: "tick" });
        this.#nowMs += 40_000;
        this.#send({ type: "tick" });
        return;
      case "cordon":
        this.#send({ type: "cordon", nodeId, reason: null });
        return;
      case "uncordon":
        this.#send({ type: "uncordon", nodeId });
        return;
      case "clear":
        this.#send({ type: "clear_condition", nodeId, condition: what % 2 === 0 ? "CPU_PRESSURE" : "MEMORY_PRESSURE" });
        return;
      case "unregister":
        this.#send({ type: "unregister", nodeId, serviceInstanceId: "run" });
        return;
      case "forget":
        this.#nowMs += this.#fleet.config.nodeForgetTtlMs;
        this.#send({ type: "tick" });
        for (let other = 0; other < what % 4; other++) this.#report(other);
        return;
      case "arrive":
        this.#bodies.push(this.#bodies[at] ?? NOTHING);
        return this.#report(this.#bodies.length - 1);
      case "restart":
        this.#placement = this.#newPlacement();
        this.#placement.replay(this.#events, { nowMs: this.#nowMs, wallMs: this.#nowMs + WALL_AHEAD_MS });
        for (let other = 0; other < what % 8; other++) this.#report(other % Math.max(1, this.#bodies.length));
        return;
      default:
        kind satisfies never;
    }
  }

  #request({ which, what }: Pick<Step, "which" | "what">): Schedule {
    const excluded = what % 3 === 0 ? [nodeIdOf(which % 36), nodeIdOf(what % 8), nodeIdOf(0), "nobody"] : [];
    return {
      type: "schedule",
      ...SHAPES[0],
      requestId: null,
      credential: "test",
      excludeNodeIds: excluded,
      managed: which % 7 !== 0,
    };
  }

  #schedule({ kind, which, what }: Step): void {
    const shape = SHAPES[what % SHAPES.length] ?? SHAPES[0];
    const excludeNodeIds = kind === "exclude" ? [nodeIdOf(which % 12), nodeIdOf(what % 12)] : [];
    const request: Schedule = { ...this.#request({ which, what: 1 }), ...shape, excludeNodeIds };
    const view = this.#send(kind === "hintless" ? { ...request, hint: "none" } : request);
    if (view !== null) this.#made.push(view);
  }

  /** From now on it comes more than any other. */
  #favour(shape: Shape): void {
    const { core } = this.#placement;
    this.#favourite = shape;
    const demand = demandOf({ ...this.#request({ which: 1, what: 1 }), ...shape });
    for (let time = 0; time < FAVOURING; time++) core.index.select(demand, rulesAt(core, this.#nowMs));
  }

  /** A create that the node refuses, so often in a row that it may be demoted. */
  #fail(what: number): void {
    for (let time = 0; time <= what % 3; time++) {
      const view = this.#send({ ...this.#request({ which: 1, what: 1 }), ...SHAPES[0] });
      if (view !== null) this.#send({ type: "cancel", handle: view.id, reason: "refused" });
    }
  }

  #confirm({ id, nodeId }: ReservationView): void {
    const sandboxId = `s${this.#sandboxes++}`;
    const view = this.#send({ type: "confirm", handle: id, sandboxId, force: false });
    if (view !== null) this.#rosters.set(nodeId, [...(this.#rosters.get(nodeId) ?? []), sandboxId]);
  }

  #report(at: number, how: { readonly lingering?: boolean; readonly roster?: boolean } = {}): void {
    const body = this.#bodies[at];
    if (body === undefined) return;
    const nodeId = nodeIdOf(at);
    this.#send({
      ...this.#heartbeat(nodeId),
      snapshot: {
        status: how.lingering === true ? "LINGERING" : "READY",
        allocatedCpuMillicores: Math.round(body.allocatedCpu * 1000),
        allocatedMemoryBytes: Math.round(body.allocatedMemory * GIB),
        cpuPercent: 0,
        cpuCapacityMillicores: body.cpu * 1000,
        memoryUsedBytes: body.allocatedMemory * GIB,
        memoryCapacityBytes: body.memory * GIB,
        sandboxCount: body.running,
        sandboxStartingCount: body.starting,
        createSuccesses: 0,
        createFails: 0,
        reportedAtUnixMs: null,
        pausedSandboxCount: body.paused,
        pausedAllocatedCpuMillicores: body.paused * 1000,
        pausedAllocatedMemoryBytes: body.paused * GIB,
        disks: [],
      },
      sandboxIds: how.roster === true ? (this.#rosters.get(nodeId) ?? []) : null,
    });
  }

  #daemon(nodeId: string, what: number, inventoryNone: boolean): void {
    const ratio = what % 2 === 0 ? 0.95 : 0.1;
    this.#send({
      ...this.#heartbeat(nodeId),
      serviceInstanceId: "daemon",
      resource: {
        cpuCapacityMillicores: 8_000,
        memoryCapacityBytes: 16 * GIB,
        utilization: {
          cpu: what % 4 < 2 ? ratio : 0.1,
          memory: what % 4 < 2 ? 0.1 : ratio,
          pid: null,
          fd: null,
          disk: null,
        },
      },
      inventoryNone,
      bootId: inventoryNone ? "boot" : null,
    });
  }

  #heartbeat(nodeId: string): Heartbeat {
    this.#sequence += 1;
    return {
      type: "heartbeat",
      nodeId,
      endpoint: `http://${nodeId}`,
      clusterId: null,
      version: null,
      serviceInstanceId: "run",
      sequence: this.#sequence,
      snapshot: null,
      sandboxIds: null,
      resource: null,
      resourceSequence: this.#sequence,
      bootId: null,
      inventoryNone: false,
    };
  }
}

function sortedWords(dropped: Dropped): string {
  return JSON.stringify([...dropped].sort(([left], [right]) => (left < right ? -1 : 1)));
}

const NOTHING: Body = { cpu: 8, memory: 16, allocatedCpu: 0, allocatedMemory: 0, paused: 0, running: 0, starting: 0 };

/** What changes from one report to the next. */
const REPORTED: readonly Partial<Body>[] = [
  {},
  { allocatedCpu: 4, running: 2 },
  { allocatedMemory: 9, running: 1 },
  { paused: 3 },
  { cpu: 0, memory: 0 },
  { allocatedCpu: 0, allocatedMemory: 0, running: 0, starting: 0, paused: 0 },
  { cpu: 16, memory: 32 },
];
