/** Serves HTTP from several worker threads on one port. */
import { createServer } from "node:net";
import type { Clock } from "../../../ports/clock.ts";
import type { DirectoryReference } from "../../directory/client.ts";
import { moduleUrl } from "../../kernel/module-url.ts";
import type { Reference } from "../../kernel/reference.ts";
import type { AnyReference } from "../../kernel/references.ts";
import type { ActorSystem } from "../../kernel/system.ts";
import type { Access, HttpApi } from "../http-server.ts";
import type { Metrics } from "../metrics.ts";
import { TokenGate } from "../tokens.ts";
import type { ApiThreadInit, ApiThreadMessage, ApiThreadReplies } from "./actor.ts";
import { type DeskMessage, deskActor, type ListenAddress } from "./desk.ts";
import { inPortTurn } from "./port-turn.ts";

export interface ApiThreadsOptions {
  /** 1 or more. */
  readonly count: number;
  /** That of the placement actor. */
  readonly placement: AnyReference;
  readonly directory: DirectoryReference;
  /** Null: none are kept. */
  readonly metrics: Metrics | null;
  readonly access: Access;
  readonly version: string;
  readonly clock: Clock;
}

type ApiThreadReference = Reference<ApiThreadMessage, ApiThreadReplies>;

/** Longer than a thread may take to load its modules on a busy machine, which is when the first `listen` waits. */
const LISTEN_DEADLINE_MS = 30_000;
/** Beyond the grace that its connections have: a thread that is still not done is ended with the process. */
const CLOSE_MARGIN_MS = 500;

const ACTOR = moduleUrl(import.meta.url, "./actor");

/** Starts the threads. Nothing listens yet. */
export function startApiThreads(system: ActorSystem, options: ApiThreadsOptions): HttpApi {
  const { count, placement, directory, metrics, access, version, clock } = options;
  const desk = system.spawnLocal<DeskMessage>("api-desk", deskActor({ access, metrics }), { onFailure: "resume" });
  const connectionCounts = new Int32Array(new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT));
  const threads = Array.from({ length: count }, (_, position): ApiThreadReference => {
    const init: ApiThreadInit = {
      version,
      bounds: access.bounds,
      metricsContentType: metrics?.contentType ?? null,
      connectionCounts,
      position,
    };
    const name = `api-${position + 1}`;
    const references = { placement, directory, desk };
    return system.spawn(name, { module: ACTOR, init }, { place: name, references });
  });
  follow(access, () => {
    // One that is between two lives asks when the next begins.
    for (const thread of threads) thread.tell({ type: "admission_changed" }, "urgent");
  });
  const listenOnAll = async ({ host, port }: ListenAddress): Promise<ListenAddress> => {
    const [first, ...others] = threads;
    if (first === undefined) throw new Error("there is no API thread");
    const bound = await listen(first, { host, port });
    const address = { host, port: bound.port };
    await Promise.all(others.map((thread) => listen(thread, address)));
    desk.tell({ type: "address", address });
    return bound;
  };
  return {
    async listen({ host, port }) {
      // Any port is one that nobody has.
      if (port === 0) return listenOnAll({ host, port });
      return inPortTurn(port, clock, async () => {
        await refuseTaken({ host, port });
        return listenOnAll({ host, port });
      });
    },
    async close(graceMs) {
      desk.tell({ type: "address", address: null });
      const deadlineMs = graceMs + CLOSE_MARGIN_MS;
      await Promise.all(
        threads.map((thread) => thread.ask({ type: "close", graceMs }, { deadlineMs, lane: "urgent" })),
      );
    },
  };
}

/** Rejects with the system's error, as `server.listen` does. */
async function listen(thread: ApiThreadReference, address: ListenAddress): Promise<ListenAddress> {
  const outcome = await thread.ask({ type: "listen", address }, { deadlineMs: LISTEN_DEADLINE_MS });
  if (!outcome.ok) throw new Error(outcome.error.message);
  if (outcome.value.error === null) return outcome.value.address;
  const { code, message } = outcome.value.error;
  throw Object.assign(new Error(message), { code });
}

/**
 * Rejects with `EADDRINUSE` when any socket listens there. The sockets of the threads would share the port with those
 * of another process of the same user that shares it too, such as a second scheduler, and each would get a part of the
 * connections.
 */
async function refuseTaken({ host, port }: ListenAddress): Promise<void> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once("error", reject);
    probe.listen({ host, port, exclusive: true }, resolve);
  });
  await new Promise((closed) => probe.close(closed));
}

function follow({ gate, tls }: Access, changed: () => void): void {
  if (gate instanceof TokenGate) gate.onChange(changed);
  tls?.onChange(changed);
}
