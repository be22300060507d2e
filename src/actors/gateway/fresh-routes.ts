/**
 * Where sandboxes are that were created through here and that the scheduler may not know yet: their confirm has not been
 * answered, or the reservation was unknown. Bridges the time until the node's next roster names them.
 */
import type { NodeAddress } from "./scheduler.ts";

/** As long as an assignment at the scheduler lives by default, and several rosters long. */
const REMEMBERED_MS = 30_000;
/** A burst of creates while the scheduler is away; beyond it the oldest go. */
const ROUTES_MAX = 10_000;

export class FreshRoutes {
  /** In the order in which they end. */
  readonly #routes = new Map<string, { readonly node: NodeAddress; readonly endsAtMs: number }>();

  remember(sandboxId: string, node: NodeAddress, nowMs: number): void {
    this.#routes.delete(sandboxId);
    this.#routes.set(sandboxId, { node, endsAtMs: nowMs + REMEMBERED_MS });
    for (const [oldest, { endsAtMs }] of this.#routes) {
      if (endsAtMs > nowMs && this.#routes.size <= ROUTES_MAX) return;
      this.#routes.delete(oldest);
    }
  }

  find(sandboxId: string, nowMs: number): NodeAddress | null {
    const route = this.#routes.get(sandboxId);
    return route !== undefined && route.endsAtMs > nowMs ? route.node : null;
  }

  forget(sandboxId: string): void {
    this.#routes.delete(sandboxId);
  }
}
