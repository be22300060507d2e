/** Plays a sequence of steps to the core and to whoever watches: traffic of callers, nodes, operators and a bad network. */
import type { PlacementConfig } from "../../../src/actors/placement/config.ts";
import type { PlacementEvent } from "../../../src/actors/placement/events.ts";
import type { Instant } from "../../../src/actors/placement/instant.ts";
import { createPlacement, type Placement } from "../../../src/actors/placement/state.ts";
import type { TurnOutcome } from "../../../src/actors/placement/turn.ts";
import { CONDITIONS, type Heartbeat, type SandboxEvents } from "../../../src/messages/nodes.ts";
import type {
  PlacementAnswers,
  PlacementMessage,
  Reply,
  ReservationView,
  Schedule,
} from "../../../src/messages/placement.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import type { Amounts } from "./model/facts.ts";
import { type NodeTraits, SimulatedNode } from "./simulated-node.ts";
import type { Step } from "./steps.ts";

export type AnyReply = Reply<PlacementAnswers[PlacementMessage["type"]]>;

/** Sees each message with its outcome, after the core has handled it. */
export type Watcher = (message: PlacementMessage, outcome: TurnOutcome<AnyReply>, now: Instant) => void;

export interface Scenario {
  readonly name: string;
  readonly config: PlacementConfig;
  readonly nodes: readonly NodeTraits[];
  readonly shapes: readonly Amounts[];
  /** Whether some callers close nothing. */
  readonly unmanaged: boolean;
  /** Whether some demands are unknown in a dimension. */
  readonly unknownDemand: boolean;
}

/** A caller's view of one attempt, and what became of the sandbox it had created. */
interface Attempt {
  readonly request: Schedule;
  readonly view: ReservationView;
  sandboxId: string | null;
}

const START: Instant = { nowMs: 5_000_000, wallMs: 1_700_000_000_000 };

/** Short ones within a heartbeat, the instants of section 4 and 5, and one that makes a node unhealthy. */
const PAUSES_MS = [
  1, 250, 250, 400, 1_000, 1_000, 1_500, 1_500, 3_000, 3_000, 5_000, 11_000, 15_000, 31_000, 60_000, 120_000,
];

export class Walk {
  readonly scenario: Scenario;
  readonly placement: Placement;
  readonly nodes: readonly SimulatedNode[];
  readonly attempts: Attempt[] = [];
  readonly events: PlacementEvent[] = [];
  now: Instant = START;
  readonly #watch: Watcher;
  /** Runtimes that the scheduler has heard: a daemon that reports before its runtime is no matter of this walk. */
  readonly #heard = new Set<string>();
  readonly #network: { readonly message: Heartbeat | SandboxEvents; readonly sentMs: number }[] = [];
  #names = 0;

  constructor(scenario: Scenario, watch: Watcher) {
    this.scenario = scenario;
    this.#watch = watch;
    this.placement = createPlacement(scenario.config, { random: seededRandom(11) }, this.now);
    this.nodes = scenario.nodes.map((traits) => new SimulatedNode(traits));
    // A configured fleet starts unheard, for the start guard and nodes never heard from.
    if (scenario.config.nodes === null) this.reportAll();
  }

  /** Every node reports, as it does while nothing is wrong. */
  reportAll(): void {
    for (const node of this.nodes) {
      this.send(node.traits.inventory === "ledger" ? node.daemonReport(true) : node.report(this.now.wallMs));
    }
  }

  static get start(): Instant {
    return START;
  }

  send<Message extends PlacementMessage>(message: Message): Reply<PlacementAnswers[Message["type"]]> {
    const outcome = this.placement.handle(message, this.now);
    this.events.push(...outcome.events);
    this.#watch(message, outcome, this.now);
    if (message.type === "heartbeat" && message.snapshot !== null) this.#heard.add(message.serviceInstanceId);
    return outcome.reply as Reply<PlacementAnswers[Message["type"]]>;
  }

  pass(durationMs: number): void {
    this.now = { nowMs: this.now.nowMs + durationMs, wallMs: this.now.wallMs + durationMs };
  }

  take(step: Step): void {
    const node = pick(this.nodes, step.which);
    if (node === undefined) return;
    switch (step.kind) {
      case "schedule":
        return this.#schedule(this.#request(step));
      case "hintless":
        return this.#schedule({ ...this.#request(step), hint: "none", cpuMillicores: null, memoryBytes: null });
      case "repeat":
        return this.#repeat(step);
      case "create":
        return this.#create(step);
      case "createFails":
        return this.#createFails(step);
      case "pass":
        return this.pass(pick(PAUSES_MS, step.which) ?? 1);
      case "tick":
        this.send({ type: "tick" });
        return;
      case "confirm":
      case "confirmOther":
      case "cancel":
      case "renew":
      case "uncertain":
      case "undelivered":
      case "look":
        return this.#close(step);
      case "readSums":
      case "report":
      case "reportWithoutRoster":
      case "reportWithoutCapacity":
      case "lingering":
      case "send":
      case "daemon":
        return this.#hear(step, node);
      case "deliver":
        return this.#deliver(step);
      case "cordon":
      case "uncordon":
      case "clearCondition":
      case "unregister":
        return this.#operate(step, node);
      default:
        return this.#live(step, node);
    }
  }

  #request({ which, what, how }: Step): Schedule {
    const shape = pick(this.scenario.shapes, what) ?? { cpu: 1000, memory: 1 };
    const unknown = this.scenario.unknownDemand ? how % 8 : 0;
    const excluded = pick(this.nodes, which);
    return {
      type: "schedule",
      hint: unknown === 3 ? "new_sandbox" : "new_cold_sandbox",
      cpuMillicores: unknown === 3 || unknown === 1 ? null : shape.cpu,
      memoryBytes: unknown === 3 || unknown === 2 ? null : shape.memory,
      requestId: which % 4 === 0 ? `request-${which % 40}` : null,
      credential: what % 3 === 0 ? "blue" : "green",
      excludeNodeIds: how % 11 === 0 && excluded !== undefined ? [excluded.traits.nodeId] : [],
      managed: !(this.scenario.unmanaged && how % 2 === 0),
    };
  }

  #schedule(request: Schedule): void {
    const reply = this.send(request);
    if (!reply.ok || reply.answer.reservation === null || reply.answer.repeated) return;
    this.attempts.push({ request, view: reply.answer.reservation, sandboxId: null });
  }

  #repeat({ which, what }: Step): void {
    const attempt = pick(this.attempts, which);
    if (attempt === undefined) return;
    const cpuMillicores = what % 5 === 0 ? 123 : attempt.request.cpuMillicores;
    this.#schedule({ ...attempt.request, cpuMillicores });
  }

  /** The node starts the sandbox of an attempt, or finishes it where it is starting. */
  #create({ which, what, how }: Step): void {
    const attempt = pick(this.attempts.slice(-6), which);
    if (attempt === undefined) return;
    const node = this.nodes.find(({ traits }) => traits.nodeId === attempt.view.nodeId);
    if (attempt.sandboxId === null) {
      const any = pick(this.scenario.shapes, what) ?? { cpu: 1000, memory: 1 };
      attempt.sandboxId = this.#nextId("sandbox");
      const { cpuMillicores, memoryBytes } = attempt.request;
      node?.start(attempt.sandboxId, { cpu: cpuMillicores ?? any.cpu, memory: memoryBytes ?? any.memory });
    }
    if (how % 3 !== 0) this.#post(node?.finish(attempt.sandboxId) ?? null, how);
  }

  #createFails({ which }: Step): void {
    const attempt = pick(this.attempts, which);
    if (attempt === undefined || attempt.sandboxId === null) return;
    this.nodes.find(({ traits }) => traits.nodeId === attempt.view.nodeId)?.fail(attempt.sandboxId);
  }

  #close({ kind, which, what, how }: Step): void {
    const attempt = pick(how % 4 === 0 ? this.attempts : this.attempts.slice(-6), which);
    if (attempt === undefined) return;
    const { token, id } = attempt.view;
    const handle = what % 3 === 0 ? id : (token ?? id);
    const reason = pick(["refused", "failed", "client_gone", null], what) ?? null;
    if (kind === "cancel") this.send({ type: "cancel", handle, reason });
    if (kind === "renew") this.send({ type: "renew", handle });
    if (kind === "uncertain") this.send({ type: "uncertain", handle });
    if (kind === "look") this.send({ type: "get_reservation", handle });
    if (kind === "undelivered") this.send({ type: "delivery_failed", reservationId: id });
    if (kind !== "confirm" && kind !== "confirmOther") return;
    const others = this.attempts.filter(({ view }) => view.nodeId === attempt.view.nodeId);
    const other = kind === "confirmOther" ? (pick(others, what)?.sandboxId ?? null) : null;
    if (kind === "confirm") attempt.sandboxId ??= this.#nextId("claimed");
    const sandboxId = other ?? attempt.sandboxId;
    if (sandboxId !== null) this.send({ type: "confirm", handle, sandboxId, force: how % 7 === 0 });
  }

  #hear({ kind, what, how }: Step, node: SimulatedNode): void {
    const { inventory } = node.traits;
    if (kind === "readSums") return node.readSums(this.now.wallMs);
    const report = inventory === "ledger" ? node.daemonReport(true) : node.report(this.now.wallMs);
    if (kind === "daemon") {
      if (how % 3 === 0) node.utilization = pick([0.1, 0.85, 0.95, 0.95, 0.79, 0.9], what) ?? 0;
      if (inventory !== "ledger" && !this.#heard.has(node.instance)) return;
      // Several at once, since it takes six in a row to matter.
      for (let again = 0; again <= what % 6; again++) this.send(node.daemonReport(how % 6 !== 0));
      return;
    }
    if (kind === "send") {
      this.#network.push({ message: report, sentMs: this.now.nowMs });
      return;
    }
    if (report.snapshot === null || kind === "report") {
      this.send(report);
      return;
    }
    const { snapshot } = report;
    if (kind === "reportWithoutRoster") this.send({ ...report, sandboxIds: null });
    if (kind === "lingering") this.send({ ...report, snapshot: { ...snapshot, status: "LINGERING" } });
    if (kind === "reportWithoutCapacity") {
      this.send({ ...report, snapshot: { ...snapshot, cpuCapacityMillicores: 0, memoryCapacityBytes: 0 } });
    }
  }

  /** Late, out of order, and now and then twice; what is older than ten seconds is lost. */
  #deliver({ which, how }: Step): void {
    const index = which % Math.max(1, this.#network.length);
    const letter = this.#network[index];
    if (letter === undefined) return;
    if (how % 5 !== 0) this.#network.splice(index, 1);
    if (this.now.nowMs - letter.sentMs <= 10_000) this.send(letter.message);
  }

  /** An event goes out at once, later, or never. */
  #post(message: SandboxEvents | null, how: number): void {
    if (message === null || how % 5 === 0) return;
    if (how % 5 === 1) this.#network.push({ message, sentMs: this.now.nowMs });
    else this.send(message);
  }

  #operate({ kind, what }: Step, node: SimulatedNode): void {
    const { nodeId, inventory } = node.traits;
    if (kind === "cordon") this.send({ type: "cordon", nodeId, reason: "by hand" });
    if (kind === "uncordon") this.send({ type: "uncordon", nodeId });
    if (kind === "clearCondition") {
      this.send({ type: "clear_condition", nodeId, condition: pick(CONDITIONS, what) ?? "CPU_PRESSURE" });
    }
    if (kind !== "unregister") return;
    const serviceInstanceId = inventory === "ledger" ? node.daemonInstance : node.instance;
    this.send({ type: "unregister", nodeId, serviceInstanceId });
    node.restart(false);
    node.restartDaemon();
  }

  /** What happens on the node without the scheduler. */
  #live({ kind, what, how }: Step, node: SimulatedNode): void {
    const sandboxId = pick([...node.sandboxes.keys()], what);
    const { nodeId, inventory } = node.traits;
    if (kind === "restart" && inventory !== "ledger") node.restart(how % 2 === 0);
    if (kind === "restartDaemon") node.restartDaemon();
    if (kind === "reboot") node.reboot();
    if (kind === "direct") {
      const id = this.#nextId("direct");
      node.start(id, pick(this.scenario.shapes, what) ?? { cpu: 1000, memory: 1 });
      this.#post(node.finish(id), how);
    }
    if (kind === "resetCounters" && inventory !== "ledger") node.resetCounters();
    if (sandboxId === undefined) return;
    if (kind === "delete") this.#post(node.remove(sandboxId), how);
    if (kind === "release") {
      node.remove(sandboxId);
      this.send({ type: "release_sandbox", sandboxId });
    }
    if (kind === "pause") this.#post(node.pauseOrResume(sandboxId), how);
    if (kind === "fork") this.#post(node.fork(sandboxId, this.#nextId(`${nodeId}-fork`)), how);
  }

  #nextId(of: string): string {
    this.#names += 1;
    return `${of}-${this.#names}`;
  }
}

/** The element that a number chooses; undefined from an empty list. */
export function pick<Element>(list: readonly Element[], choice: number): Element | undefined {
  return list[choice % Math.max(1, list.length)];
}
