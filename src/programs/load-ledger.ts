/** What a load run asks of its scheduler's ledger beside the load itself, and what it does to it as an operator would. */
import { audit, type Evidence, type Finding, type Invariant } from "../actors/load/audit.ts";
import {
  gatherEvidence,
  listNodes,
  readinessOf,
  type SchedulerEvidence,
  UnreachableError,
} from "../actors/load/evidence.ts";
import { type ApiCall, SchedulerCalls } from "../actors/load/scheduler-calls.ts";
import { pause } from "../ports/pause.ts";
import { formatSpan } from "./figures.ts";
import { LoadError, type LoadPorts, type LoadTerms } from "./load-terms.ts";

const CONNECTIONS = 8;
/**
 * A scheduler started in the background just before takes a second or two until it listens, on a busy machine a few.
 * It is as long as somebody waits who has misspelt the address.
 */
const LISTENS_WITHIN_MS = 5_000;
/** Above the start guard of a scheduler, 10 s. */
const READY_WITHIN_MS = 20_000;
const READY_POLL_MS = 100;

/** Of an audit's evidence, what the clients' side knows. */
export type ClientEvidence = Pick<Evidence, "records" | "cancelledById">;

export class LoadLedger {
  readonly #own: ReadonlySet<string>;
  readonly #url: string;
  readonly #clock: LoadPorts["clock"];
  readonly #say: LoadPorts["say"];
  readonly #calls: SchedulerCalls;

  constructor(
    { scheduler, nodes }: Pick<LoadTerms, "scheduler" | "nodes">,
    { clock, say }: Pick<LoadPorts, "clock" | "say">,
  ) {
    this.#own = new Set(nodes.map(({ nodeId }) => nodeId));
    this.#url = scheduler.url;
    this.#clock = clock;
    this.#say = say;
    this.#calls = new SchedulerCalls(scheduler, CONNECTIONS);
  }

  /**
   * A scheduler that has just been started loads its program before it listens, reads its log then, and waits for the
   * nodes that it knows. Throws `UnreachableError` when nobody listens, or what listens is not trusted, and `LoadError`
   * when the rest takes too long.
   */
  async untilReady(): Promise<void> {
    await this.#untilListening();
    const untilMs = this.#clock.monotonicMs() + READY_WITHIN_MS;
    for (;;) {
      const readiness = await readinessOf(this.#calls);
      if (readiness.ready) return;
      if (this.#clock.monotonicMs() > untilMs) throw new LoadError(`the scheduler is not ready: ${readiness.why}`);
      await pause(this.#clock, READY_POLL_MS);
    }
  }

  async #untilListening(): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + LISTENS_WITHIN_MS;
    for (let tries = 1; ; tries++) {
      try {
        await readinessOf(this.#calls);
        return;
      } catch (thrown) {
        if (!isRefusedConnection(thrown) || this.#clock.monotonicMs() > untilMs) throw thrown;
        if (tries === 1)
          this.#say(`nobody listens at ${this.#url} yet; waiting ${formatSpan(LISTENS_WITHIN_MS)} at most`);
        await pause(this.#clock, READY_POLL_MS);
      }
    }
  }

  /**
   * Nodes that the scheduler has already, before the run's are registered. Throws `EvidenceError`, and `LoadError` when
   * one is of the run: it may be a real one.
   */
  async listForeignNodes(): Promise<string[]> {
    const known = (await listNodes(this.#calls)).map((node) => node.node_id);
    const taken = known.find((nodeId) => this.#own.has(nodeId));
    if (taken === undefined) return known;
    throw new LoadError(
      `the scheduler has a node ${taken} already, and --node-tokens is for nodes of this run only; where it is left from an earlier run, take it out with "npx evenkeel unregister ${taken}"`,
    );
  }

  /** Ids of the live reservations on the run's nodes. Throws `EvidenceError`. */
  async listLive(): Promise<string[]> {
    return (await this.#gather()).live.map(({ id }) => id);
  }

  /** Throws `EvidenceError`. */
  async audit(invariants: readonly Invariant[], clients: ClientEvidence): Promise<Finding[]> {
    return audit(invariants, { ...(await this.#gather()), ...clients });
  }

  /** As an operator would. Whether it worked shows in the next audit. */
  async cancelById(ids: readonly string[]): Promise<void> {
    const cancelOf = (id: string): ApiCall => ({
      method: "POST",
      path: `/v1/reservations/${id}/cancel`,
      body: { reason: "load_run_over" },
    });
    await Promise.all(ids.map((id) => this.#calls.call(cancelOf(id))));
  }

  close(): Promise<void> {
    return this.#calls.close();
  }

  #gather(): Promise<SchedulerEvidence> {
    return gatherEvidence({ calls: this.#calls, clock: this.#clock, isOwn: (nodeId) => this.#own.has(nodeId) });
  }
}

/** As the system's call names it: nobody listens there. Other reasons, such as a certificate or a name, do not pass. */
function isRefusedConnection(thrown: unknown): boolean {
  return thrown instanceof UnreachableError && thrown.message.includes("ECONNREFUSED");
}
