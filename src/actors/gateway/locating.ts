/** Which node a request that creates nothing goes to, and under which path. */
import type { Clock } from "../../ports/clock.ts";
import type { FreshRoutes } from "./fresh-routes.ts";
import type { Route } from "./routes.ts";
import type { Answered, NodeAddress, Scheduler } from "./scheduler.ts";

export type ForwardedRoute = Extract<Route, { readonly kind: "sandbox" | "any_node" }>;

export interface Locator {
  locate(route: ForwardedRoute): Promise<Answered<NodeAddress>>;
  /** The path on the node; its percent-encoding is the client's. */
  pathOf(route: ForwardedRoute, target: string): string;
}

export interface LocatorOptions {
  readonly scheduler: Scheduler;
  readonly freshRoutes: FreshRoutes;
  readonly clock: Clock;
  /** Below which nodes take requests for what runs inside a sandbox; empty for none. */
  readonly proxyPrefix: string;
}

export function createLocator({ scheduler, freshRoutes, clock, proxyPrefix }: LocatorOptions): Locator {
  return {
    async locate(route) {
      if (route.kind === "any_node") return scheduler.pick();
      const found = await scheduler.lookup(route.sandboxId);
      if (found.ok) return found;
      const node = freshRoutes.find(route.sandboxId, clock.monotonicMs());
      return node === null ? found : { ok: true, value: node };
    },
    pathOf: (route, target) => (route.kind === "sandbox" && route.by === "header" ? proxyPrefix + target : target),
  };
}
