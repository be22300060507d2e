/** What a load run asks of its scheduler's ledger beside the load itself, and what it does to it as an operator would. */
import { audit, type Evidence, type Finding, type Invariant } from "../actors/load/audit.ts";
import { gatherEvidence, listNodes, readinessOf, type SchedulerEvidence } from "../actors/load/evidence.ts";
import { SchedulerCalls } from "../actors/load/scheduler-calls.ts";
import { LoadError, type LoadPorts, type LoadTerms } from "./load-terms.ts";

const CONNECTIONS = 8;
/** Above the start guard of a scheduler, 10 s. */
const READY_WITHIN_MS = 20_000;
const READY_POLL_MS = 100;

/** Of an audit's evidence, what the clients' side knows. */
export type ClientEvidence = Pick<Evidence, "records" | "cancelledById">;

export class LoadLedger {
  readonly #prefix: string;
  readonly #clock: LoadPorts["clock"];
  readonly #calls: SchedulerCalls;

  constructor({ scheduler, prefix }: LoadTerms, { clock }: LoadPorts) {
    this.#prefix = prefix;
    this.#clock = clock;
    this.#calls = new SchedulerCalls(scheduler, CONNECTIONS);
  }

  /**
   * A scheduler that has just been started reads its log first, and waits for the nodes that it knows. Throws
   * `EvidenceError`, and `LoadError` when that takes too long.
   */
  async untilReady(): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + READY_WITHIN_MS;
    for (;;) {
      const readiness = await readinessOf(this.#calls);
      if (readiness.ready) return;
      if (this.#clock.monotonicMs() > untilMs) throw new LoadError(`the scheduler is not ready: ${readiness.why}`);
      await new Promise<void>((resolve) => void this.#clock.after(READY_POLL_MS, resolve));
    }
  }

  /** Every node that the scheduler has, the run's own and others. Throws `EvidenceError`. */
  async listNodeIds(): Promise<string[]> {
    return (await listNodes(this.#calls)).map((node) => node.node_id);
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
    const body = { reason: "load_run_over" };
    await Promise.all(ids.map((id) => this.#calls.call("POST", `/v1/reservations/${id}/cancel`, body)));
  }

  close(): Promise<void> {
    return this.#calls.close();
  }

  #gather(): Promise<SchedulerEvidence> {
    return gatherEvidence(this.#calls, this.#clock, `${this.#prefix}-`);
  }
}
