/** One load run, phase by phase. It leaves the scheduler as it found it, whatever happens on the way. */
import {
  type Finding,
  INVARIANTS_AT_END,
  INVARIANTS_UNDER_LOAD,
  type Invariant,
  promisesKept,
} from "../actors/load/audit.ts";
import { asRestartsLeft } from "../actors/load/chaos.ts";
import type { Fired } from "../actors/load/messages.ts";
import { type ClientRecord, type Durations, isGranted, type TIMED_CALLS } from "../actors/load/records.ts";
import { describeThrown } from "../messages/thrown.ts";
import { pause } from "../ports/pause.ts";
import { formatSpan } from "./figures.ts";
import { Firing } from "./load-firing.ts";
import { type ClientEvidence, LoadLedger } from "./load-ledger.ts";
import { LoadNodes } from "./load-nodes.ts";
import type { AuditTime, LoadPorts, LoadResult, LoadTerms } from "./load-terms.ts";

/** Promised: freed capacity shows within 1 s of the end of a lease. */
const EXPIRY_SHOWS_WITHIN_MS = 1_000;

export class LoadRun {
  readonly #terms: LoadTerms;
  readonly #ports: LoadPorts;
  readonly #ledger: LoadLedger;
  readonly #nodes: LoadNodes;
  readonly #firing: Firing;
  #cutShort: string | null = null;

  /** Begins the thread of its nodes at once: a timer, of which the first phase is made, keeps no process alive. */
  constructor(terms: LoadTerms, ports: LoadPorts) {
    const nodes = new LoadNodes(terms, ports);
    this.#terms = terms;
    this.#ports = ports;
    this.#ledger = new LoadLedger(terms, ports);
    this.#nodes = nodes;
    this.#firing = new Firing(terms, { ...ports, tellNodes: (happened) => nodes.tell(happened) });
  }

  /** Throws `EvidenceError` or `LoadError` when it cannot go on. */
  async execute(): Promise<LoadResult> {
    const { say, chaos } = this.#ports;
    const terms = this.#terms;
    await this.#ledger.untilReady();
    const foreign = await this.#ledger.listForeignNodes();
    if (foreign.length > 0) say(`leaving out ${foreign.length} nodes that the scheduler has already`);
    await this.#nodes.register();
    const { fired, firedMs } = await this.#fire(foreign);
    const told = fired.flatMap((each) => each.records);
    const records = asRestartsLeft(told, chaos);
    const underLoad = await this.#audit("under load", INVARIANTS_UNDER_LOAD, { records, cancelledById: new Set() });
    await this.#waitForLeases(records);
    const cancelledById = await this.#cancelAbandoned(records);
    const atEnd = await this.#audit("at the end", INVARIANTS_AT_END, { records, cancelledById });
    return {
      terms,
      records,
      durationsMs: mergeDurations(fired),
      calls: fired.reduce((sum, each) => sum + each.calls, 0),
      firedMs,
      findings: [...this.#brokenPromises(), ...underLoad, ...atEnd],
      cancelledById: cancelledById.size,
      cutShort: this.#cutShort,
    };
  }

  /** Sends no further requests, and goes on from there. */
  stop(why: string): void {
    this.#cutShort ??= why;
    this.#firing.stop();
  }

  /** Ends what is still live on the nodes of the run, and takes them out. Says what it could not do; never throws. */
  async cleanUp(): Promise<void> {
    try {
      if (this.#nodes.registered) {
        this.#nodes.endSandboxes();
        await this.#ledger.cancelById(await this.#ledger.listLive());
        await this.#nodes.leave();
      }
    } catch (thrown) {
      this.#ports.say(`evenkeel: could not clean up: ${describeThrown(thrown)}`);
    }
    await this.#ledger.close();
  }

  async #fire(excludeNodeIds: readonly string[]): Promise<{ readonly fired: Fired[]; readonly firedMs: number }> {
    const { clock, say, chaos } = this.#ports;
    const { requests, nodes, concurrency } = this.#terms;
    // Under chaos the kills end the run.
    const most = chaos === null ? "" : "at most ";
    say(`firing ${most}${requests} requests at ${nodes.length} nodes, ${concurrency} at once`);
    const startMs = clock.monotonicMs();
    const wreaked = this.#wreak();
    wreaked.catch(() => undefined); // Awaited below, once the clients are done.
    const fired = await this.#firing.fire(excludeNodeIds, () => this.stop("--timeout"));
    await wreaked;
    return { fired, firedMs: clock.monotonicMs() - startMs };
  }

  async #wreak(): Promise<void> {
    const { chaos } = this.#ports;
    if (chaos === null) return;
    try {
      await chaos.wreak();
    } finally {
      this.#firing.stop();
    }
  }

  #brokenPromises(): LoadResult["findings"] {
    const { chaos } = this.#ports;
    return chaos === null ? [] : [{ invariant: promisesKept, violations: chaos.broken, when: "under load" }];
  }

  async #audit(
    when: AuditTime,
    invariants: readonly Invariant[],
    clients: ClientEvidence,
  ): Promise<(Finding & { readonly when: AuditTime })[]> {
    this.#ports.say(`auditing ${when}`);
    await this.#nodes.settle();
    return (await this.#ledger.audit(invariants, clients)).map((finding) => ({ ...finding, when }));
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
    await pause(clock, waitMs);
  }

  /** Those whose leases were not waited for. Their ids. */
  async #cancelAbandoned(records: readonly ClientRecord[]): Promise<ReadonlySet<string>> {
    const granted = records.filter(isGranted).filter(({ end }) => end === "abandoned");
    const abandoned = new Set(granted.map(({ grant }) => grant.id));
    const left = (await this.#ledger.listLive()).filter((id) => abandoned.has(id));
    await this.#ledger.cancelById(left);
    return new Set(left);
  }
}

function mergeDurations(fired: readonly Fired[]): Durations {
  const of = (call: (typeof TIMED_CALLS)[number]): number[] => fired.flatMap(({ durationsMs }) => durationsMs[call]);
  return { schedule: of("schedule"), confirm: of("confirm"), cancel: of("cancel") };
}
