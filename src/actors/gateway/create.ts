/**
 * A create, from its head to a closed reservation. Whatever happens, the reservation that was made for it is closed: by
 * confirm, by cancel before the next node is tried, or by a mark that says that nobody knows.
 */
import type { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../kernel/actor.ts";
import { type Beginning, readBeginning, rejoin } from "./body.ts";
import type { Closer } from "./closing.ts";
import { destroySandbox } from "./destroying.ts";
import { type Headers, headersForNode } from "./headers.ts";
import { HINT_BYTES_MAX, type Hint, hintOf } from "./hint.ts";
import { judge, nameOf } from "./judging.ts";
import type { CreateEnd, GatewayMetrics } from "./metrics.ts";
import type { NodeAnswer, NodeTransport, Sent } from "./node-transport.ts";
import { type Ambiguous, LOST, type LostWhy, type Verdict } from "./outcome.ts";
import { type GatewayRefusal, refusalOfFailure, STOPPING, sendRefusal, unknownOutcome } from "./refusals.ts";
import type { CreateKind } from "./routes.ts";
import type { Failure, Hold, Scheduler } from "./scheduler.ts";
import { type Deadline, type Shutdown, type Waiting, waitAtMost } from "./waiting.ts";

export interface CreateOptions {
  readonly scheduler: Scheduler;
  readonly transport: NodeTransport;
  readonly closer: Closer;
  readonly metrics: GatewayMetrics;
  readonly clock: Clock;
  readonly log: Log;
  /** Nodes that are tried at most. */
  readonly attemptsMax: number;
  /** How long a node may take to answer, in milliseconds. */
  readonly createTimeoutMs: number;
  /** What becomes of a sandbox whose late confirm no longer fits. */
  readonly onExpired: "keep" | "destroy";
  /** Begins when running creates are to end. */
  readonly shutdown: Shutdown;
}

interface Create {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly client: Waiting;
  readonly headers: Headers;
  readonly beginning: Beginning;
  readonly hint: Hint;
}

/** A node that refused, and its answer where it gave one. */
interface Refusal {
  readonly nodeId: string;
  readonly why: string;
  readonly answer: NodeAnswer | null;
}

/** The client has left, or has been told: there is nothing more to send. */
const NOBODY = null;

export class Creates {
  readonly #options: CreateOptions;
  #running = 0;

  constructor(options: CreateOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  /** Answers the client, or nobody when it left. */
  async handle(request: FastifyRequest, reply: FastifyReply, kind: CreateKind): Promise<FastifyReply> {
    const { clock, metrics, shutdown } = this.#options;
    const startedAtMs = clock.monotonicMs();
    this.#running += 1;
    try {
      const client = shutdown.waitForClient(reply);
      const beginning = await readBeginning(request.raw, HINT_BYTES_MAX).catch(() => NOBODY);
      if (beginning === NOBODY) {
        metrics.created("client_gone", clock.monotonicMs() - startedAtMs);
        return reply.hijack();
      }
      const hint = hintOf(kind, beginning.rest === null ? beginning.bytes : null);
      const { socket } = request.raw;
      const encrypted = request.protocol === "https";
      const headers = headersForNode(request.raw.rawHeaders, { address: socket.remoteAddress ?? null, encrypted });
      const end = await this.#run({ request, reply, client, headers, beginning, hint });
      metrics.created(end, clock.monotonicMs() - startedAtMs);
      return reply;
    } finally {
      this.#running -= 1;
    }
  }

  async #run(create: Create): Promise<CreateEnd> {
    const { scheduler, clock, createTimeoutMs, metrics, closer } = this.#options;
    const refusals: Refusal[] = [];
    for (;;) {
      const excludeNodeIds = refusals.map(({ nodeId }) => nodeId);
      const reserved = await scheduler.reserve({ hint: create.hint, excludeNodeIds });
      if (!reserved.ok) return this.#unscheduled(create, refusals, reserved.failure);
      refusals.at(-1)?.answer?.discard();
      const hold = reserved.value;
      if (create.client.signal.aborted) return this.#notSent(create, hold);
      const deadline = waitAtMost(create.client, createTimeoutMs, clock);
      const sent = await this.#send(create, hold, deadline);
      if (sent.kind === "unsent" && create.client.signal.aborted) {
        deadline.lift();
        return this.#notSent(create, hold);
      }
      const verdict = judge(sent);
      metrics.attempted(verdict.kind, verdict.kind === "created" ? "" : verdict.reason);
      switch (verdict.kind) {
        case "created":
          return this.#created(create, hold, { answer: verdict.answer, deadline });
        case "ambiguous":
          deadline.lift();
          if (sent.kind === "answered") sent.answer.discard();
          return this.#unknown(create, hold, verdict);
        case "definite": {
          deadline.lift();
          await closer.cancel(hold, verdict.reason);
          this.#noteFailure(hold, verdict.reason, sent);
          const refusal = refusalOf(hold, sent);
          refusals.push(refusal);
          if (!this.#mayTryElsewhere(create, verdict, refusals)) return giveUp(create, verdict, refusals);
          continue;
        }
        default:
          return verdict satisfies never;
      }
    }
  }

  /** No further node: what the last one said, or that none could be reached, says more than that. */
  #unscheduled(create: Create, refusals: readonly Refusal[], failure: Failure): CreateEnd {
    const last = refusals.at(-1);
    this.#options.log.warn({ code: failure.code, tried: refusals.length }, `no node for a create: ${failure.message}`);
    if (create.client.signal.aborted && create.reply.raw.destroyed) {
      last?.answer?.discard();
      create.reply.hijack();
      return "client_gone";
    }
    if (last?.answer) {
      passOn(create, last.answer, last.answer.body);
      return "refused";
    }
    sendRefusal(create.reply, last === undefined ? refusalOfFailure(failure) : unreachable(refusals, failure));
    return last === undefined ? "unscheduled" : "refused";
  }

  #send({ request, headers, beginning }: Create, { node }: Hold, { signal }: Deadline): Promise<Sent> {
    return this.#options.transport.send({
      node,
      method: request.method,
      path: request.originalUrl,
      headers,
      body: rejoin(beginning),
      signal,
    });
  }

  /** A body that was not read whole is gone with the first attempt. */
  #mayTryElsewhere({ beginning, client }: Create, verdict: Verdict, refusals: readonly Refusal[]): boolean {
    if (verdict.kind !== "definite" || !verdict.triedElsewhere || client.signal.aborted) return false;
    return beginning.rest === null && refusals.length < this.#options.attemptsMax;
  }

  /** The client left, or the gateway stops, and no node has heard of it. */
  async #notSent({ reply, client }: Create, hold: Hold): Promise<CreateEnd> {
    const why = client.signal.reason as LostWhy;
    await this.#options.closer.cancel(hold, why);
    if (why !== "shutdown") {
      reply.hijack();
      return "client_gone";
    }
    sendRefusal(reply, STOPPING);
    return "unscheduled";
  }

  async #unknown(create: Create, hold: Hold, verdict: Ambiguous): Promise<CreateEnd> {
    const { closer, log } = this.#options;
    const { reservationId, node } = hold;
    await closer.uncertain(hold, verdict.reason);
    log.warn(
      { reservationId, nodeId: node.nodeId, reason: verdict.reason },
      "nobody knows whether a sandbox was created",
    );
    if (verdict.clientStatus === null || create.reply.raw.destroyed) {
      create.reply.hijack();
      return "client_gone";
    }
    sendRefusal(create.reply, unknownOutcome(verdict.clientStatus, node.nodeId, verdict.reason));
    return "uncertain";
  }

  /** The node says that it exists: the scheduler hears of it before the client does. */
  async #created(
    create: Create,
    hold: Hold,
    { answer, deadline }: { answer: NodeAnswer; deadline: Deadline },
  ): Promise<CreateEnd> {
    const { closer, onExpired } = this.#options;
    const named = await nameOf(answer);
    deadline.lift();
    if (named === null) {
      const why = deadline.signal.aborted ? (deadline.signal.reason as LostWhy) : "reset";
      return this.#unknown(create, hold, LOST[why]);
    }
    const { sandboxId, body } = named;
    if (sandboxId === null) {
      await closer.uncertain(hold, "no_sandbox_id");
      this.#noteNameless(hold, answer.status);
      passOn(create, answer, body);
      return "uncertain";
    }
    const end = await closer.confirm(hold, sandboxId, { force: false });
    if (end === "expired") {
      if (onExpired === "destroy" && (await this.#destroy(create, hold, sandboxId))) {
        answer.discard();
        return "destroyed";
      }
      await closer.confirm(hold, sandboxId, { force: true });
    }
    passOn(create, answer, body);
    return "created";
  }

  /** False when it is still there: it is then kept and charged, since it exists. */
  async #destroy({ reply, headers }: Create, { node, reservationId }: Hold, sandboxId: string): Promise<boolean> {
    const { transport, clock, log } = this.#options;
    const fields = { reservationId, sandboxId, nodeId: node.nodeId };
    if (!(await destroySandbox({ transport, clock, node, sandboxId, headers }))) {
      log.error(fields, "a sandbox that no longer fits could not be destroyed and is kept");
      return false;
    }
    log.warn(fields, "a sandbox that was confirmed too late and no longer fitted has been destroyed");
    const message = "the sandbox was created too late, no longer fitted, and has been destroyed";
    sendRefusal(reply, { status: 503, code: "expired", message, details: { retry: "unchanged" } });
    return true;
  }

  #noteFailure({ reservationId, node }: Hold, reason: string, sent: Sent): void {
    const status = sent.kind === "answered" ? sent.answer.status : null;
    const why = sent.kind === "unsent" ? sent.why : null;
    const fields = { reservationId, nodeId: node.nodeId, reason, status, why };
    this.#options.log.info(fields, "a node did not create a sandbox");
  }

  #noteNameless({ reservationId, node }: Hold, status: number): void {
    const fields = { reservationId, nodeId: node.nodeId, status };
    this.#options.log.warn(fields, "a node says that it created a sandbox and does not name it");
  }
}

function refusalOf({ node }: Hold, sent: Sent): Refusal {
  if (sent.kind === "answered") {
    return { nodeId: node.nodeId, why: `answered ${sent.answer.status}`, answer: sent.answer };
  }
  return { nodeId: node.nodeId, why: sent.kind === "unsent" ? sent.why : sent.detail, answer: null };
}

function giveUp(
  create: Create,
  verdict: Extract<Verdict, { kind: "definite" }>,
  refusals: readonly Refusal[],
): CreateEnd {
  const last = refusals.at(-1);
  if (last?.answer) passOn(create, last.answer, last.answer.body);
  else if (create.reply.raw.destroyed) create.reply.hijack();
  else sendRefusal(create.reply, unreachable(refusals));
  return verdict.reason;
}

/** `failure`: why no further node was tried, where some might have been. */
function unreachable(refusals: readonly Refusal[], failure: Failure | null = null): GatewayRefusal {
  const tried = refusals.map(({ nodeId, why }) => `${nodeId}: ${why}`).join("; ");
  const message = `no node could be reached (${tried})${failure === null ? "" : `; then ${failure.message}`}`;
  const nodeIds = refusals.map(({ nodeId }) => nodeId);
  return { status: 503, code: "unavailable", message, details: { retry: "unchanged", node_ids: nodeIds } };
}

function passOn({ reply }: Create, answer: NodeAnswer, body: Buffer | Readable): void {
  if (reply.raw.destroyed) {
    answer.discard();
    reply.hijack();
    return;
  }
  if (!reply.request.raw.complete) reply.header("connection", "close");
  reply.code(answer.status).headers(answer.headers).send(body);
}
