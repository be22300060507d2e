/** What operators ask of the gateway itself, on an address of its own: on the public one every path is the nodes'. */
import fastify from "fastify";
import type { GatewayMetrics } from "./metrics.ts";
import { STOPPING, sendRefusal } from "./refusals.ts";

export interface AdminServer {
  listen(address: { readonly host: string; readonly port: number }): Promise<{ host: string; port: number }>;
  /** From here on it is alive, and not ready. */
  drain(): void;
  close(): Promise<void>;
}

export function createAdminServer(metrics: GatewayMetrics): AdminServer {
  let draining = false;
  const app = fastify({ logger: false, forceCloseConnections: true });
  app.get("/healthz", async () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => (draining ? sendRefusal(reply, STOPPING) : { status: "ready" }));
  app.get("/metrics", async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  app.setNotFoundHandler((_request, reply) =>
    sendRefusal(reply, {
      status: 404,
      code: "not_found",
      message: "no such path; there are /healthz, /readyz and /metrics",
    }),
  );
  return {
    async listen({ host, port }) {
      await app.listen({ host, port });
      const bound = app.server.address();
      if (bound === null || typeof bound === "string") throw new Error("the admin server has no address");
      return { host: bound.address, port: bound.port };
    },
    drain() {
      draining = true;
    },
    close: () => app.close(),
  };
}
