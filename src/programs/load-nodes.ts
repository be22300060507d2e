/** The nodes of a load run: one actor plays them all, in a thread of its own, for as long as the run lasts. */
import { moduleUrl } from "../actors/kernel/module-url.ts";
import type { Reference } from "../actors/kernel/reference.ts";
import type {
  RoundEnd,
  SandboxCreated,
  SandboxEnded,
  SyntheticNodesInit,
  SyntheticNodesMessage,
  SyntheticNodesReplies,
} from "../actors/load/messages.ts";
import { LoadError, type LoadPorts, type LoadTerms } from "./load-terms.ts";

/** A round of heartbeats, or of unregistering, of the largest fleet. */
const ROUND_DEADLINE_MS = 60_000;
/** An id that both of the last two rosters list settles; one more for what was under way. */
const ROUNDS_TO_SETTLE = 3;

export class LoadNodes {
  readonly #say: LoadPorts["say"];
  readonly #actor: Reference<SyntheticNodesMessage, SyntheticNodesReplies>;
  /** Whether the scheduler may know of them. */
  #registered = false;

  /** Begins the thread, which says nothing before they are registered. */
  constructor(terms: LoadTerms, { system, say }: LoadPorts) {
    const { scheduler, prefix, nodes, nodeCpuCount, nodeMemoryBytes, heartbeatIntervalMs } = terms;
    const capacity = { cpuMillicores: nodeCpuCount * 1000, memoryBytes: nodeMemoryBytes };
    const init: SyntheticNodesInit = { scheduler, prefix, nodes, capacity, heartbeatIntervalMs };
    this.#say = say;
    this.#actor = system.spawn<SyntheticNodesMessage, SyntheticNodesReplies>(
      "synthetic-nodes",
      { module: moduleUrl(import.meta.url, "../actors/load/synthetic-nodes"), init },
      // Every create and every end of a sandbox must get through, or the audit would blame the scheduler.
      { place: "load-nodes", mailboxCapacity: 2 * terms.requests + 100 },
    );
  }

  get registered(): boolean {
    return this.#registered;
  }

  /** From here on they report by themselves. Throws `LoadError` when one is not taken. */
  async register(): Promise<void> {
    this.#registered = true;
    await this.#expectRound();
  }

  /** Reports until every sandbox that is confirmed has settled. Throws `LoadError`. */
  async settle(): Promise<void> {
    for (let round = 0; round < ROUNDS_TO_SETTLE; round++) await this.#expectRound();
  }

  tell(happened: SandboxCreated | SandboxEnded): void {
    const refused = this.#actor.tell(happened);
    if (refused !== null) this.#say(`evenkeel: ${refused.message}`);
  }

  endSandboxes(): void {
    this.#actor.tell({ type: "end_sandboxes" });
  }

  /** Has them report once more and takes them out. Says what could not be done; throws `LoadError` when nobody answers. */
  async leave(): Promise<void> {
    const { problem } = await this.#round("unregister");
    if (problem !== null) this.#say(`evenkeel: could not clean up: ${problem.message}`);
  }

  async #expectRound(): Promise<void> {
    const { problem } = await this.#round("report");
    if (problem !== null) throw new LoadError(problem.message, problem.code);
  }

  async #round(type: "report" | "unregister"): Promise<RoundEnd> {
    const outcome = await this.#actor.ask({ type }, { deadlineMs: ROUND_DEADLINE_MS });
    if (!outcome.ok) throw new LoadError(outcome.error.message);
    return outcome.value;
  }
}
