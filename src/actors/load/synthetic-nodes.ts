/**
 * Nodes that exist for a load run only. One actor owns what is on each of them, and reports it: sums, roster and counter,
 * as a sandbox runtime does.
 */
import { wireSnapshotOf } from "../../messages/http/heartbeat.ts";
import type { Heartbeat } from "../../messages/nodes.ts";
import type { Actor, ActorContext, Answer } from "../kernel/actor.ts";
import type { Message } from "../kernel/message.ts";
import type { RoundEnd, SyntheticNodesInit, SyntheticNodesMessage } from "./messages.ts";
import { PlayedNode } from "./played-node.ts";
import { apiErrorIn, type CallEnd, isSuccess, type Problem, problemIn, SchedulerCalls } from "./scheduler-calls.ts";

/** Heartbeats in flight at once: enough to send those of 1 000 nodes in far less than an interval. */
const CONNECTIONS = 8;

export function createActor(init: unknown, context: ActorContext): Actor<Message> {
  return new SyntheticNodes(init as SyntheticNodesInit, context) as Actor<Message>;
}

class SyntheticNodes implements Actor<SyntheticNodesMessage> {
  readonly #context: ActorContext;
  readonly #intervalMs: number;
  readonly #calls: SchedulerCalls;
  readonly #nodes: ReadonlyMap<string, PlayedNode>;
  readonly #tokens: ReadonlyMap<string, string | null>;
  readonly #accepted = new Set<PlayedNode>();
  /** Rounds follow each other: two reports of a node must not overtake one another. */
  #rounds: Promise<unknown> = Promise.resolve();
  /** From the first report on, rounds come by themselves. */
  #reporting = false;
  #leaving = false;

  constructor({ scheduler, prefix, nodes, capacity, heartbeatIntervalMs }: SyntheticNodesInit, context: ActorContext) {
    this.#context = context;
    this.#intervalMs = heartbeatIntervalMs;
    this.#calls = new SchedulerCalls(scheduler, CONNECTIONS);
    this.#tokens = new Map(nodes.map(({ nodeId, token }) => [nodeId, token]));
    this.#nodes = new Map(
      nodes.map(({ nodeId }, position) => {
        // The top-level domain that never resolves (RFC 2606): nobody shall send a create there.
        const endpoint = `node-${position + 1}.${prefix}.invalid:443`;
        // Of this run: the names may be those of an earlier one, whose late reports are kept out by its instance.
        return [nodeId, new PlayedNode({ nodeId, endpoint, serviceInstanceId: `${prefix}-instance`, capacity })];
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
        return this.#inTurn((node) => this.#leave(node), answer);
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
  #inTurn(act: (node: PlayedNode) => Promise<Problem | null>, ended: (end: RoundEnd) => void): void {
    this.#rounds = this.#rounds.then(async () => {
      const problems = await Promise.all([...this.#nodes.values()].map(act));
      ended({ problem: problems.find((problem) => problem !== null) ?? null });
    });
  }

  async #report(node: PlayedNode): Promise<Problem | null> {
    const { nodeId } = node.terms;
    const end = await this.#calls.call({
      method: "POST",
      path: `${pathOf(node)}/heartbeat`,
      body: wireHeartbeatOf(node.heartbeat()),
      token: this.#tokens.get(nodeId) ?? null,
    });
    if (isSuccess(end)) this.#accepted.add(node);
    return problemOf(`heartbeat of ${nodeId}`, end);
  }

  async #leave(node: PlayedNode): Promise<Problem | null> {
    if (!this.#accepted.has(node)) return null;
    const reported = await this.#report(node);
    const { nodeId, serviceInstanceId } = node.terms;
    const path = `${pathOf(node)}?service_instance_id=${serviceInstanceId}`;
    // As an operator would: a node's own token takes no node out over HTTP.
    const end = await this.#calls.call({ method: "DELETE", path });
    return reported ?? problemOf(`unregister of ${nodeId}`, end);
  }
}

function pathOf({ terms }: PlayedNode): string {
  return `/v1/nodes/${encodeURIComponent(terms.nodeId)}`;
}

function problemOf(what: string, end: CallEnd): Problem | null {
  if (isSuccess(end)) return null;
  return { message: `${what}: ${problemIn(end)}`, code: apiErrorIn(end)?.code ?? null };
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
