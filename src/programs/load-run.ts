/** One load run, phase by phase. It leaves the scheduler as it found it, whatever happens on the way. */

import type { Message } from "../actors/kernel/actor.ts";
import { moduleUrl } from "../actors/kernel/module-url.ts";
import type { Outcome } from "../actors/kernel/outcome.ts";
import type { Reference } from "../actors/kernel/reference.ts";
import type { ActorSystem } from "../actors/kernel/system.ts";
import {
  audit,
  type Evidence,
  type Finding,
  INVARIANTS_AT_END,
  INVARIANTS_UNDER_LOAD,
  type Invariant,
  promisesKept,
} from "../actors/load/audit.ts";
import { asRestartsLeft, CHAOS_PATIENCE, type Chaos } from "../actors/load/chaos.ts";
import { gatherEvidence, listNodes, readinessOf, type SchedulerEvidence } from "../actors/load/evidence.ts";
import type {
  Fired,
  RequesterInit,
  RequesterMessage,
  RequesterPost,
  RequesterReplies,
  RoundEnd,
  SyntheticNodesInit,
  SyntheticNodesMessage,
  SyntheticNodesReplies,
} from "../actors/load/messages.ts";
import type { LoadPlan } from "../actors/load/plan.ts";
import { type ClientRecord, type Durations, isGranted, type TIMED_CALLS } from "../actors/load/records.ts";
import { SchedulerCalls } from "../actors/load/scheduler-calls.ts";
import { describeThrown } from "../messages/thrown.ts";
import type { Clock } from "../ports/clock.ts";
import { formatSpan } from "./figures.ts";
import type { LoadSettings } from "./load-settings.ts";

/** The run cannot go on: one line that says why. */
export class LoadError extends Error {}

export interface LoadTerms extends LoadSettings {
  readonly scheduler: string;
  readonly seed: number;
  /** Begins the name of all that the run makes. */
  readonly prefix: string;
}

export interface LoadPorts {
  readonly system: ActorSystem;
  readonly clock: Clock;
  /** A line for a person who waits. */
  readonly say: (line: string) => void;
  /** Kills and restarts the scheduler while requests are fired; null leaves it alone. */
  readonly chaos: Chaos | null;
}

/** When the ledger is audited: with abandoned reservations still pending, and when nothing is any more. */
export const AUDIT_TIMES = ["under load", "at the end"] as const;
export type AuditTime = (typeof AUDIT_TIMES)[number];

export interface LoadResult {
  readonly terms: LoadTerms;
  readonly records: readonly ClientRecord[];
  readonly durationsMs: Durations;
  readonly calls: number;
  /** From the first request to the last answer. */
  readonly firedMs: number;
  readonly findings: readonly (Finding & { readonly when: AuditTime })[];
  /** Abandoned reservations that were not waited for. */
  readonly cancelledById: number;
  /** Why not all requests were sent; null when they were. */
  readonly cutShort: string | null;
}

/** What is asked of the scheduler beside the load itself. */
const AUDIT_CONNECTIONS = 8;
/** A round of heartbeats, or of unregistering, of the largest fleet. */
const ROUND_DEADLINE_MS = 60_000;
/** For those in flight when the time is up: above the tries of a client. */
const DRAIN_MS = 60_000;
/** placement.md, 5.2: an id that both of the last two rosters list settles; one more for what was under way. */
const ROUNDS_TO_SETTLE = 3;
/** placement.md, 4: freed capacity shows within 1 s of the end of a lease. */
const EXPIRY_SHOWS_WITHIN_MS = 1_000;
/** Above the start guard of a scheduler, 10 s. */
const READY_WITHIN_MS = 20_000;
const READY_POLL_MS = 100;
const PROGRESS_EVERY_MS = 1_000;
const BYTES_PER_MIB = 2 ** 20;

export class LoadRun {
  readonly #terms: LoadTerms;
  readonly #ports: LoadPorts;
  readonly #calls: SchedulerCalls;
  readonly #requesters: Reference<RequesterMessage, RequesterReplies>[] = [];
  #nodes: Reference<SyntheticNodesMessage, SyntheticNodesReplies> | null = null;
  /** Whether nodes may have been made known to the scheduler. */
  #registered = false;
  #done = 0;
  #saidAtMs = 0;
  #cutShort: string | null = null;
  #firingOver = false;

  constructor(terms: LoadTerms, ports: LoadPorts) {
    this.#terms = terms;
    this.#ports = ports;
    this.#calls = new SchedulerCalls(terms.scheduler, AUDIT_CONNECTIONS);
  }

  async execute(): Promise<LoadResult> {
    const { clock, say, chaos } = this.#ports;
    const terms = this.#terms;
    this.#nodes = this.#spawnNodes();
    await this.#untilReady();
    const foreign = (await listNodes(this.#calls)).map((node) => node.node_id);
    if (foreign.length > 0) say(`leaving out ${foreign.length} nodes that the scheduler has already`);
    await this.#registerNodes();
    say(`firing ${terms.requests} requests at ${terms.nodes} nodes, ${terms.concurrency} at once`);
    const startMs = clock.monotonicMs();
    this.#saidAtMs = startMs;
    const wreaked = this.#wreak();
    wreaked.catch(() => undefined); // Awaited below, once the clients are done.
    const fired = await this.#fire(foreign);
    await wreaked;
    const firedMs = clock.monotonicMs() - startMs;
    const records = asRestartsLeft(
      fired.flatMap((each) => each.records),
      chaos,
    );
    say("auditing under load");
    const underLoad = await this.#audit("under load", INVARIANTS_UNDER_LOAD, records, new Set());
    await this.#waitForLeases(records);
    const cancelled = await this.#cancelAbandoned(records);
    say("auditing at the end");
    const atEnd = await this.#audit("at the end", INVARIANTS_AT_END, records, cancelled);
    return {
      terms,
      records,
      durationsMs: mergeDurations(fired),
      calls: fired.reduce((sum, each) => sum + each.calls, 0),
      firedMs,
      findings: [...this.#brokenPromises(), ...underLoad, ...atEnd],
      cancelledById: cancelled.size,
      cutShort: this.#cutShort,
    };
  }

  /** Sends no further requests, and goes on from there. */
  stop(why: string): void {
    this.#cutShort ??= why;
    this.#stopFiring();
  }

  async #wreak(): Promise<void> {
    const { chaos } = this.#ports;
    if (chaos === null) return;
    try {
      await chaos.wreak();
    } finally {
      this.#stopFiring();
    }
  }

  #brokenPromises(): LoadResult["findings"] {
    const { chaos } = this.#ports;
    return chaos === null ? [] : [{ invariant: promisesKept, violations: chaos.broken, when: "under load" }];
  }

  #stopFiring(): void {
    this.#firingOver = true;
    for (const requester of this.#requesters) requester.tell({ type: "stop_firing" }, "urgent");
  }

  /** Ends what is still live on the nodes of the run, and takes them out. Says what it could not do; never throws. */
  async cleanUp(): Promise<void> {
    try {
      if (this.#nodes !== null && this.#registered) await this.#takeOut(this.#nodes);
    } catch (thrown) {
      this.#ports.say(`evenkeel: could not clean up: ${describeThrown(thrown)}`);
    }
    await this.#calls.close();
  }

  async #takeOut(nodes: Reference<SyntheticNodesMessage, SyntheticNodesReplies>): Promise<void> {
    nodes.tell({ type: "end_sandboxes" });
    await this.#cancelById(await this.#listLive());
    for (const round of ["report", "unregister"] as const) {
      const { problem } = await this.#inRound(round);
      if (problem !== null) this.#ports.say(`evenkeel: could not clean up: ${problem}`);
    }
  }

  /** A scheduler that has just been started reads its log first, and waits for the nodes that it knows. */
  async #untilReady(): Promise<void> {
    const { clock } = this.#ports;
    const untilMs = clock.monotonicMs() + READY_WITHIN_MS;
    for (;;) {
      const readiness = await readinessOf(this.#calls);
      if (readiness.ready) return;
      if (clock.monotonicMs() > untilMs) throw new LoadError(`the scheduler is not ready: ${readiness.why}`);
      await new Promise<void>((resolve) => void clock.after(READY_POLL_MS, resolve));
    }
  }

  /** Before all else: a timer keeps no process alive, its thread does. It says nothing before the first `report`. */
  #spawnNodes(): Reference<SyntheticNodesMessage, SyntheticNodesReplies> {
    const { scheduler, prefix, nodes: count, nodeCpuCount, nodeMemoryBytes, heartbeatIntervalMs } = this.#terms;
    const capacity = { cpuMillicores: nodeCpuCount * 1000, memoryBytes: nodeMemoryBytes };
    const init: SyntheticNodesInit = { scheduler, prefix, count, capacity, heartbeatIntervalMs };
    return this.#ports.system.spawn<SyntheticNodesMessage, SyntheticNodesReplies>(
      "synthetic-nodes",
      { module: moduleUrl(import.meta.url, "../actors/load/synthetic-nodes"), init },
      // Every create and every end of a sandbox must get through, or the audit would blame the scheduler.
      { place: "load-nodes", mailboxCapacity: 2 * this.#terms.requests + 100 },
    );
  }

  async #registerNodes(): Promise<void> {
    this.#registered = true;
    const { problem } = await this.#inRound("report");
    if (problem !== null) throw new LoadError(problem);
  }

  async #fire(excludeNodeIds: readonly string[]): Promise<Fired[]> {
    const { workers, concurrency, timeoutMs } = this.#terms;
    const plan = planOf(this.#terms);
    const timeUp = this.#ports.clock.after(timeoutMs, () => this.stop("--timeout"));
    const outcomes = await Promise.all(
      Array.from({ length: Math.min(workers, concurrency) }, (_, worker, step = Math.min(workers, concurrency)) => {
        const share = Math.floor((concurrency + step - 1 - worker) / step);
        const requester = this.#spawnRequester(worker, 2 * share);
        const fire = { type: "fire", plan, first: worker, step, concurrency: share, excludeNodeIds } as const;
        return requester.ask(fire, { deadlineMs: timeoutMs + DRAIN_MS });
      }),
    );
    timeUp.cancel();
    return outcomes.map(unwrapOrFail);
  }

  #spawnRequester(worker: number, connections: number): Reference<RequesterMessage, RequesterReplies> {
    const init: RequesterInit = { scheduler: this.#terms.scheduler, connections };
    const requester = this.#ports.system.spawn<RequesterMessage, RequesterReplies>(
      `requester-${worker + 1}`,
      { module: moduleUrl(import.meta.url, "../actors/load/requester"), init },
      { place: `load-requester-${worker + 1}`, outlet: { tell: (message) => this.#onPost(message as RequesterPost) } },
    );
    this.#requesters.push(requester);
    if (this.#firingOver) requester.tell({ type: "stop_firing" });
    return requester;
  }

  #onPost(post: RequesterPost & Message): null {
    if (post.type === "promised") {
      this.#ports.chaos?.heard(post);
      return null;
    }
    if (post.type !== "requests_done") {
      const refused = this.#nodes?.tell(post) ?? null;
      if (refused !== null) this.#ports.say(`evenkeel: ${refused.message}`);
      return null;
    }
    this.#done += post.count;
    const nowMs = this.#ports.clock.monotonicMs();
    if (post.count === 0 || (nowMs - this.#saidAtMs < PROGRESS_EVERY_MS && this.#done < this.#terms.requests))
      return null;
    this.#saidAtMs = nowMs;
    this.#ports.say(`  ${this.#done} of ${this.#terms.requests}`);
    return null;
  }

  async #audit(
    when: AuditTime,
    invariants: readonly Invariant[],
    records: readonly ClientRecord[],
    cancelledById: ReadonlySet<string>,
  ): Promise<LoadResult["findings"]> {
    for (let round = 0; round < ROUNDS_TO_SETTLE; round++) {
      const { problem } = await this.#inRound("report");
      if (problem !== null) throw new LoadError(problem);
    }
    const evidence: Evidence = { ...(await this.#gather()), records, cancelledById };
    return audit(invariants, evidence).map((finding) => ({ ...finding, when }));
  }

  /** Until the last lease of an abandoned one is over, or for as long as was asked to wait. */
  async #waitForLeases(records: readonly ClientRecord[]): Promise<void> {
    const { clock, say } = this.#ports;
    const abandoned = records.filter(isGranted).filter(({ end }) => end === "abandoned");
    if (abandoned.length === 0) return;
    const lastEndMs = abandoned.reduce((last, { grant }) => Math.max(last, grant.leaseEndsAtWallMsMost), 0);
    const leftMs = lastEndMs + 2 * EXPIRY_SHOWS_WITHIN_MS - clock.wallMs();
    const waitMs = Math.max(0, Math.min(leftMs, this.#cutShort === null ? this.#terms.waitMs : 0));
    say(
      `waiting ${formatSpan(waitMs)} for ${abandoned.length} abandoned leases; the last ends in ${formatSpan(leftMs)}`,
    );
    await new Promise<void>((resolve) => void clock.after(waitMs, resolve));
  }

  /** Those whose leases were not waited for, as an operator would. */
  async #cancelAbandoned(records: readonly ClientRecord[]): Promise<Set<string>> {
    const abandoned = new Set(
      records.filter(isGranted).flatMap(({ end, grant }) => (end === "abandoned" ? [grant.id] : [])),
    );
    const live = await this.#listLive();
    return this.#cancelById(live.filter((id) => abandoned.has(id)));
  }

  async #listLive(): Promise<string[]> {
    return (await this.#gather()).live.map(({ id }) => id);
  }

  #gather(): Promise<SchedulerEvidence> {
    return gatherEvidence(this.#calls, this.#ports.clock, `${this.#terms.prefix}-`);
  }

  async #cancelById(ids: readonly string[]): Promise<Set<string>> {
    const cancel = (id: string) =>
      this.#calls.call("POST", `/v1/reservations/${id}/cancel`, { reason: "load_run_over" });
    await Promise.all(ids.map(cancel));
    return new Set(ids);
  }

  async #inRound(type: "report" | "unregister"): Promise<RoundEnd> {
    if (this.#nodes === null) return { problem: null };
    return unwrapOrFail(await this.#nodes.ask({ type }, { deadlineMs: ROUND_DEADLINE_MS }));
  }
}

function planOf(terms: LoadTerms): LoadPlan {
  const { seed, prefix, requests, cpuCount, memoryBytes, confirm, cancel, abandon, repeatShare } = terms;
  const memoryMib = memoryBytes / BYTES_PER_MIB;
  const patience = terms.chaosKills === null ? null : CHAOS_PATIENCE;
  return { seed, prefix, requests, cpuCount, memoryMib, weights: { confirm, cancel, abandon }, repeatShare, patience };
}

function mergeDurations(fired: readonly Fired[]): Durations {
  const of = (call: (typeof TIMED_CALLS)[number]): number[] => fired.flatMap(({ durationsMs }) => durationsMs[call]);
  return { schedule: of("schedule"), confirm: of("confirm"), cancel: of("cancel") };
}

function unwrapOrFail<T>(outcome: Outcome<T>): T {
  if (!outcome.ok) throw new LoadError(outcome.error.message);
  return outcome.value;
}
