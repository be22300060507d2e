/**
 * Nodes that exist for a load run only. One actor owns what is on each of them, and reports it: sums, roster and counter,
 * as a sandbox runtime does.
 */
import { wireSnapshotOf } from "../../messages/http/heartbeat.ts";
import type { Heartbeat } from "../../messages/nodes.ts";
import type { Actor, ActorContext, Answer, Message } from "../kernel/actor.ts";
import type { RoundEnd, SyntheticNodesInit, SyntheticNodesMessage } from "./messages.ts";
import { PlayedNode } from "./played-node.ts";
import { isSuccess, problemIn, SchedulerCalls } from "./scheduler-calls.ts";

/** Heartbeats in flight at once: enough to send those of 1 000 nodes in far less than an interval. */
const CONNECTIONS = 8;

export function createActor(init: unknown, context: ActorContext): Actor<Message> {
  return new SyntheticNodes(init as SyntheticNodesInit, context) as Actor<Message>;
}

/** The name of node `position`, from 0. */
export function nodeIdOf(prefix: string, position: number): string {
  return `${prefix}-node-${position + 1}`;
}

class SyntheticNodes implements Actor<SyntheticNodesMessage> {
  readonly #context: ActorContext;
  readonly #intervalMs: number;
  readonly #calls: SchedulerCalls;
  readonly #nodes: ReadonlyMap<string, PlayedNode>;
  readonly #accepted = new Set<PlayedNode>();
  /** Rounds follow each other: two reports of a node must not overtake one another. */
  #rounds: Promise<unknown> = Promise.resolve();
  /** From the first report on, rounds come by themselves. */
  #reporting = false;
  #leaving = false;

  constructor({ scheduler, prefix, count, capacity, heartbeatIntervalMs }: SyntheticNodesInit, context: ActorContext) {
    this.#context = context;
    this.#intervalMs = heartbeatIntervalMs;
    this.#calls = new SchedulerCalls(scheduler, CONNECTIONS);
    this.#nodes = new Map(
      Array.from({ length: count }, (_, position) => {
        const nodeId = nodeIdOf(prefix, position);
        // The top-level domain that never resolves (RFC 2606): nobody shall send a create there.
        const endpoint = `${nodeId}.invalid:443`;
        return [nodeId, new PlayedNode({ nodeId, endpoint, serviceInstanceId: `${nodeId}-instance`, capacity })];
      }),
    );
  }

  receive(message: SyntheticNodesMessage, answer: Answer): void {
    switch (message.type) {
      case "sandbox_created":
        this.#nodes.get(message.nodeId)?.create(message.sandboxId, message.amounts);
        return;
      case "sandbox_ended":
        this.#nodes.get(message.nodeId)?.delete(message.sandboxId);
        return;
      case "report":
        if (!this.#reporting) this.#scheduleRound();
        this.#reporting = true;
        return this.#inTurn((node) => this.#report(node), answer);
      case "end_sandboxes":
        for (const node of this.#nodes.values()) node.clear();
        return;
      case "unregister":
        this.#leaving = true;
        return this.#inTurn((node) => this.#unregister(node), answer);
      case "round_due":
        if (this.#leaving) return;
        return this.#inTurn(
          (node) => this.#report(node),
          () => this.#scheduleRound(),
        );
      default:
        message satisfies never;
    }
  }

  stopped(): void {
    this.#leaving = true;
    this.#calls.close();
  }

  #scheduleRound(): void {
    this.#context.clock.after(this.#intervalMs, () => this.#context.tellSelf({ type: "round_due" }));
  }

  /** Does the same for every node, once what is under way is done. `ended` gets the first problem. */
  #inTurn(act: (node: PlayedNode) => Promise<string | null>, ended: (end: RoundEnd) => void): void {
    this.#rounds = this.#rounds.then(async () => {
      const problems = await Promise.all([...this.#nodes.values()].map(act));
      ended({ problem: problems.find((problem) => problem !== null) ?? null });
    });
  }

  async #report(node: PlayedNode): Promise<string | null> {
    const { nodeId } = node.terms;
    const end = await this.#calls.call("POST", `/v1/nodes/${nodeId}/heartbeat`, wireHeartbeatOf(node.heartbeat()));
    if (isSuccess(end)) this.#accepted.add(node);
    return isSuccess(end) ? null : `heartbeat of ${nodeId}: ${problemIn(end)}`;
  }

  async #unregister(node: PlayedNode): Promise<string | null> {
    if (!this.#accepted.has(node)) return null;
    const { nodeId, serviceInstanceId } = node.terms;
    const end = await this.#calls.call("DELETE", `/v1/nodes/${nodeId}?service_instance_id=${serviceInstanceId}`);
    return isSuccess(end) ? null : `unregister of ${nodeId}: ${problemIn(end)}`;
  }
}

function wireHeartbeatOf({ endpoint, serviceInstanceId, sequence, snapshot, sandboxIds }: Heartbeat): object {
  return {
    endpoint,
    service_instance_id: serviceInstanceId,
    sequence,
    snapshot: snapshot === null ? undefined : wireSnapshotOf(snapshot),
    sandbox_ids: sandboxIds,
  };
}
