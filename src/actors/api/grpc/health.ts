import type { Server } from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";
import type { Clock } from "../../../ports/clock.ts";
import type { PlacementClient } from "../../placement/client.ts";

/** Soon enough for whoever waits for a start; each look is one message. */
const LOOK_EVERY_MS = 250;

export interface Health {
  addTo(server: Server): void;
  /** Says NOT_SERVING, for good. */
  close(): void;
}

/**
 * `grpc.health.v1`. The process as a whole (the empty name) is SERVING once it is ready, like `GET /readyz`. The
 * services by name are from the start: nodes whose client looks there first have to get their heartbeats through, which
 * are what readiness waits for.
 */
export function createHealth(placement: PlacementClient, clock: Clock, services: readonly string[]): Health {
  const health = new HealthImplementation({
    "": "NOT_SERVING",
    ...Object.fromEntries(services.map((name) => [name, "SERVING"] as const)),
  });
  let closed = false;
  let shown: boolean | null = null;
  const look = async (): Promise<void> => {
    const { ready } = await placement.readiness();
    if (closed) return;
    // Watchers are told of changes only.
    if (ready !== shown) health.setStatus("", ready ? "SERVING" : "NOT_SERVING");
    shown = ready;
    timer = clock.after(LOOK_EVERY_MS, () => void look());
  };
  let timer = clock.after(0, () => void look());
  return {
    addTo: (server) => health.addToServer(server),
    close() {
      closed = true;
      timer.cancel();
      for (const name of ["", ...services]) health.setStatus(name, "NOT_SERVING");
    },
  };
}
