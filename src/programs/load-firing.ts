/** Fires the requests of a load run from worker threads, and says how far they are. */
import type { Message } from "../actors/kernel/message.ts";
import { moduleUrl } from "../actors/kernel/module-url.ts";
import type { Reference } from "../actors/kernel/reference.ts";
import { CHAOS_PATIENCE } from "../actors/load/chaos.ts";
import type {
  Fired,
  RequesterInit,
  RequesterMessage,
  RequesterPost,
  RequesterReplies,
  SandboxCreated,
  SandboxEnded,
} from "../actors/load/messages.ts";
import type { LoadPlan } from "../actors/load/plan.ts";
import { LoadError, type LoadPorts, type LoadTerms } from "./load-terms.ts";

/** For those in flight when the time is up: above the tries of a client. */
const DRAIN_MS = 60_000;
const PROGRESS_EVERY_MS = 1_000;
const BYTES_PER_MIB = 2 ** 20;

export interface FiringPorts extends LoadPorts {
  /** What happens on the nodes. */
  readonly tellNodes: (happened: SandboxCreated | SandboxEnded) => void;
}

export class Firing {
  readonly #terms: LoadTerms;
  readonly #ports: FiringPorts;
  readonly #requesters: Reference<RequesterMessage, RequesterReplies>[] = [];
  #stopped = false;
  #done = 0;
  #saidAtMs = 0;

  constructor(terms: LoadTerms, ports: FiringPorts) {
    this.#terms = terms;
    this.#ports = ports;
  }

  /** What became of all requests, by thread. `timeUp` is called when that takes too long. Throws `LoadError`. */
  async fire(excludeNodeIds: readonly string[], timeUp: () => void): Promise<Fired[]> {
    const { clock } = this.#ports;
    const { workers, concurrency, timeoutMs } = this.#terms;
    const plan = planOf(this.#terms);
    const nodeIds = this.#terms.nodes.map(({ nodeId }) => nodeId);
    this.#saidAtMs = clock.monotonicMs();
    const timer = clock.after(timeoutMs, timeUp);
    const step = Math.min(workers, concurrency);
    const outcomes = await Promise.all(
      Array.from({ length: step }, (_, worker) => {
        const share = Math.floor((concurrency + step - 1 - worker) / step);
        const part = { first: worker, step, concurrency: share };
        const fire = { type: "fire", plan, ...part, nodeIds, excludeNodeIds } as const;
        return this.#spawnRequester(worker, 2 * share).ask(fire, { deadlineMs: timeoutMs + DRAIN_MS });
      }),
    );
    timer.cancel();
    return outcomes.map((outcome) => {
      if (!outcome.ok) throw new LoadError(outcome.error.message);
      return outcome.value;
    });
  }

  /** Sends no further requests; those in flight are brought to their end. */
  stop(): void {
    this.#stopped = true;
    for (const requester of this.#requesters) requester.tell({ type: "stop_firing" }, "urgent");
  }

  #spawnRequester(worker: number, connections: number): Reference<RequesterMessage, RequesterReplies> {
    const init: RequesterInit = { scheduler: this.#terms.scheduler, connections };
    const requester = this.#ports.system.spawn<RequesterMessage, RequesterReplies>(
      `requester-${worker + 1}`,
      { module: moduleUrl(import.meta.url, "../actors/load/requester"), init },
      { place: `load-requester-${worker + 1}`, outlet: { tell: (message) => this.#onPost(message as RequesterPost) } },
    );
    this.#requesters.push(requester);
    if (this.#stopped) requester.tell({ type: "stop_firing" });
    return requester;
  }

  #onPost(post: RequesterPost & Message): null {
    switch (post.type) {
      case "promised":
        this.#ports.chaos?.heard(post);
        return null;
      case "requests_done":
        this.#onRequestsDone(post.count);
        return null;
      default:
        this.#ports.tellNodes(post);
        return null;
    }
  }

  #onRequestsDone(count: number): void {
    const { requests } = this.#terms;
    this.#done += count;
    const nowMs = this.#ports.clock.monotonicMs();
    if (count === 0 || (nowMs - this.#saidAtMs < PROGRESS_EVERY_MS && this.#done < requests)) return;
    this.#saidAtMs = nowMs;
    this.#ports.say(`  ${this.#done} of ${requests}`);
  }
}

function planOf(terms: LoadTerms): LoadPlan {
  const { seed, prefix, requests, cpuCount, memoryBytes, confirm, cancel, abandon, repeatShare } = terms;
  const memoryMib = memoryBytes / BYTES_PER_MIB;
  const patience = terms.chaosKills === null ? null : CHAOS_PATIENCE;
  return { seed, prefix, requests, cpuCount, memoryMib, weights: { confirm, cancel, abandon }, repeatShare, patience };
}
