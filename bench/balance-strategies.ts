/** Who places: the scheduler's own core under one of its strategies, or a reference that samples. */
import type { Amounts, PlayedNode } from "../src/actors/load/played-node.ts";
import { defaultPlacementConfig } from "../src/actors/placement/config.ts";
import { createPlacement, type Placement } from "../src/actors/placement/state.ts";
import type { PlacementMessage } from "../src/messages/placement.ts";
import { type Random, seededRandom } from "../src/ports/random.ts";
import { creationOf } from "../src/simulation/creation.ts";

/** Both kinds are told the same: what they placed, what nodes report, and which sandboxes ended. */
export interface Placer {
  /** The node for a sandbox, which is there from now on; null: refused. */
  place(request: { readonly sandboxId: string; readonly amounts: Amounts }, nowMs: number): string | null;
  report(node: PlayedNode, nowMs: number): void;
  ended(node: PlayedNode, sandboxId: string, nowMs: number): void;
}

/** An arbitrary wall time to start from: no decision reads it. */
const EPOCH_WALL_MS = Date.UTC(2026, 0, 1);

/** The scheduler's core, which sees each sandbox confirmed as it is created. */
export class CorePlacer implements Placer {
  readonly #placement: Placement;

  constructor(strategy: string, { seed, heartbeatMs }: { readonly seed: number; readonly heartbeatMs: number }) {
    const reportTtlMs = Math.max(defaultPlacementConfig.reportTtlMs, 3 * heartbeatMs);
    const config = { ...defaultPlacementConfig, strategy, reportTtlMs };
    this.#placement = createPlacement(config, { random: seededRandom(seed) }, { nowMs: 0, wallMs: EPOCH_WALL_MS });
  }

  place({ sandboxId, amounts }: { readonly sandboxId: string; readonly amounts: Amounts }, nowMs: number) {
    const { reply } = this.#placement.handle(creationOf(amounts), { nowMs, wallMs: EPOCH_WALL_MS + nowMs });
    if (!reply.ok) return null;
    const { node, reservation } = reply.answer;
    this.#send({ type: "confirm", handle: reservation?.token ?? "", sandboxId, force: false }, nowMs);
    return node.nodeId;
  }

  report(node: PlayedNode, nowMs: number): void {
    this.#send(node.heartbeat(), nowMs);
  }

  ended({ terms: { nodeId, serviceInstanceId } }: PlayedNode, sandboxId: string, nowMs: number): void {
    const amounts = { requestedCpuMillicores: 0, requestedMemoryBytes: 0 };
    const events = [{ sandboxId, eventType: "DELETE", ...amounts } as const];
    this.#send({ type: "sandbox_events", nodeId, serviceInstanceId, events }, nowMs);
  }

  #send(message: PlacementMessage, nowMs: number): void {
    const { reply } = this.#placement.handle(message, { nowMs, wallMs: EPOCH_WALL_MS + nowMs });
    if (!reply.ok) throw new Error(`${message.type} was refused: ${reply.refusal.message}`);
  }
}

interface Known {
  readonly nodeId: string;
  readonly capacityMillicores: number;
  allocatedMillicores: number;
  /** Placed there since its newest report. */
  readonly inFlight: Map<string, number>;
}

/** The reference: of so many nodes drawn at random, the one with the least (allocated + in flight + requested)/capacity. */
export class SamplingPlacer implements Placer {
  readonly #samples: number;
  readonly #random: Random;
  readonly #known = new Map<string, Known>();

  constructor(samples: number, seed: number) {
    this.#samples = samples;
    this.#random = seededRandom(seed);
  }

  place({ sandboxId, amounts }: { readonly sandboxId: string; readonly amounts: Amounts }): string | null {
    const scored = this.#draw().map((node) => ({ node, score: scoreOf(node, amounts.cpuMillicores) }));
    const [best] = scored.filter(({ score }) => score <= 1).sort((left, right) => left.score - right.score);
    if (best === undefined) return null;
    best.node.inFlight.set(sandboxId, amounts.cpuMillicores);
    return best.node.nodeId;
  }

  report({ terms: { nodeId, capacity }, allocated }: PlayedNode): void {
    this.#known.set(nodeId, {
      nodeId,
      capacityMillicores: capacity.cpuMillicores,
      allocatedMillicores: allocated.cpuMillicores,
      inFlight: new Map(),
    });
  }

  ended({ terms }: PlayedNode, sandboxId: string): void {
    this.#known.get(terms.nodeId)?.inFlight.delete(sandboxId);
  }

  /** Distinct nodes, each choice of them as likely as another. */
  #draw(): Known[] {
    const left = [...this.#known.values()];
    const count = Math.min(this.#samples, left.length);
    return Array.from({ length: count }, () =>
      left.splice(Math.floor(this.#random.fraction() * left.length), 1),
    ).flat();
  }
}

function scoreOf({ allocatedMillicores, inFlight, capacityMillicores }: Known, requestedMillicores: number): number {
  let inFlightMillicores = 0;
  for (const millicores of inFlight.values()) inFlightMillicores += millicores;
  return (allocatedMillicores + inFlightMillicores + requestedMillicores) / capacityMillicores;
}
