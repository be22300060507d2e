/**
 * One of the threads that serve HTTP on the same port. It has a server of its own, and asks the actors of the main thread
 * through references that cross in batches:
 *
 * ```
 *  connections ──▶ API thread 1 ──┐
 *  connections ──▶ API thread 2 ──┼──▶ placement, directory, desk (main thread)
 *  connections ──▶ API thread N ──┘
 * ```
 *
 * The kernel of the system shares new connections out among the sockets that listen (SO_REUSEPORT, socket(7)). When a
 * thread dies, its sockets go, and new connections reach the others until its next life listens.
 */
import { type Refusal, refuse } from "../../../messages/errors.ts";
import { describeThrown } from "../../../messages/thrown.ts";
import type { DirectoryMessage, DirectoryReplies } from "../../directory/client.ts";
import type { Actor, ActorContext, Answer } from "../../kernel/actor.ts";
import type { Speaking } from "../../kernel/references.ts";
import { createPlacementClient, type PlacementActorMessage, type PlacementReplies } from "../../placement/client.ts";
import type { Bounds } from "../bounds.ts";
import type { Handlers } from "../handled.ts";
import { createHandlers } from "../handlers.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "../http-server.ts";
import { SharedConnections } from "../shared-connections.ts";
import { Tls, type TlsMaterial } from "../tls.ts";
import { openGate, TokenGate } from "../tokens.ts";
import type { Admission, DeskMessage, DeskReplies, ListenAddress } from "./desk.ts";

export interface ApiThreadInit {
  readonly version: string;
  readonly bounds: Bounds;
  /** Null: no metrics are kept. */
  readonly metricsContentType: string | null;
  /** Connections of every API thread, by position; shared memory. */
  readonly connectionCounts: Int32Array;
  /** Which of the counts is this thread's. */
  readonly position: number;
}

export type ApiThreadMessage =
  | { readonly type: "listen"; readonly address: ListenAddress }
  /** Other tokens or another certificate are in force. */
  | { readonly type: "admission_changed" }
  | { readonly type: "close"; readonly graceMs: number }
  /** From itself: it cannot go on. */
  | { readonly type: "failed"; readonly reason: string };

export type ApiThreadReplies = {
  /** Null `error`: it listens there. `code` is the system's. */
  listen:
    | { readonly address: ListenAddress; readonly error: null }
    | { readonly address: null; readonly error: { readonly code: string; readonly message: string } };
  close: Readonly<Record<string, never>>;
};

type Desk = Speaking<DeskMessage, DeskReplies>;

/** Far above any wait of a main thread that gets on. */
const DESK_DEADLINE_MS = 10_000;
/** Whoever asks whether the process lives gives up soon after. */
const ALIVE_DEADLINE_MS = 2_000;

export function createActor(init: ApiThreadInit, context: ActorContext): Actor<ApiThreadMessage> {
  return new ApiThread(init, context);
}

interface Opened {
  readonly server: HttpServer;
  readonly gate: TokenGate | null;
  readonly tls: Tls | null;
}

class ApiThread implements Actor<ApiThreadMessage> {
  readonly #init: ApiThreadInit;
  readonly #context: ActorContext;
  readonly #desk: Desk;
  readonly #connections: SharedConnections;
  readonly #opened: Promise<Opened>;
  #stopped = false;

  constructor(init: ApiThreadInit, context: ActorContext) {
    this.#init = init;
    this.#context = context;
    this.#desk = context.reference<DeskMessage, DeskReplies>("desk");
    const { connectionCounts: counts, position: own, bounds } = init;
    this.#connections = new SharedConnections({ counts, own, connectionsMax: bounds.connectionsMax });
    this.#opened = this.#open();
    this.#opened.catch((thrown: unknown) => this.#fail(thrown));
  }

  receive(message: ApiThreadMessage, answer: Answer): void {
    switch (message.type) {
      case "listen":
        this.#onListen(message.address, answer);
        return;
      case "admission_changed":
        this.#onAdmissionChanged();
        return;
      case "close":
        this.#whenOpen(async ({ server }) => {
          await server.close(message.graceMs);
          answer({});
        });
        return;
      case "failed":
        throw new Error(message.reason);
      default:
        message satisfies never;
    }
  }

  /** At once: whoever wants answers to get out asks it to close before. */
  stopped(): void {
    this.#stopped = true;
    this.#connections.release();
    this.#opened.then(
      ({ server }) => server.close(0),
      () => undefined,
    );
  }

  async #open(): Promise<Opened> {
    const { admission, address } = await this.#ask({ type: "opening" });
    const gate = admission.tokens === null ? null : new TokenGate(admission.tokens);
    const tls = admission.tls === null ? null : new Tls(materialOf(admission.tls));
    const server = createHttpServer(this.#serverOptions(gate, tls));
    // A next life goes on where the one before it listened.
    if (address !== null && !this.#stopped) await server.listen({ ...address, reusePort: true });
    return { server, gate, tls };
  }

  #serverOptions(gate: TokenGate | null, tls: Tls | null): HttpServerOptions {
    const { version, bounds, metricsContentType } = this.#init;
    const { clock, log, reference } = this.#context;
    const placement = createPlacementClient(reference<PlacementActorMessage, PlacementReplies>("placement"), clock);
    const directory = reference<DirectoryMessage, DirectoryReplies>("directory");
    return {
      handlers: withLiveness(createHandlers({ placement, directory }), this.#desk),
      metrics:
        metricsContentType === null
          ? null
          : {
              contentType: metricsContentType,
              text: async ({ byNode }) => (await this.#ask({ type: "metrics", byNode })).text,
            },
      version,
      access: { gate: gate ?? openGate, tls, bounds, connections: this.#connections },
      clock,
      log,
    };
  }

  #onListen(address: ListenAddress, answer: Answer): void {
    this.#whenOpen(async ({ server }) => {
      try {
        const bound = await server.listen({ ...address, reusePort: true });
        answer({ address: bound, error: null } satisfies ApiThreadReplies["listen"]);
      } catch (thrown) {
        const { code = "" } = thrown as NodeJS.ErrnoException;
        const error = { code, message: describeThrown(thrown) };
        answer({ address: null, error } satisfies ApiThreadReplies["listen"]);
      }
    });
  }

  /** Asks anew instead of being told: what is asked later is answered later, so that the newest is what stays. */
  #onAdmissionChanged(): void {
    this.#whenOpen(async ({ gate, tls }) => {
      const { tokens, tls: material } = await this.#ask({ type: "admission" });
      if (tokens !== null) gate?.use(tokens);
      if (material !== null) tls?.use(materialOf(material));
    });
  }

  #whenOpen(run: (opened: Opened) => Promise<void>): void {
    this.#opened.then(run).catch((thrown: unknown) => this.#fail(thrown));
  }

  #fail(thrown: unknown): void {
    const failed: ApiThreadMessage = { type: "failed", reason: describeThrown(thrown) };
    if (!this.#stopped) this.#context.tellSelf(failed, "urgent");
  }

  /** Throws when there is no answer. */
  async #ask<Type extends keyof DeskReplies>(
    message: Extract<DeskMessage, { readonly type: Type }>,
  ): Promise<DeskReplies[Type]> {
    const outcome = await this.#desk.ask<Type & DeskMessage["type"]>(message as never, {
      deadlineMs: DESK_DEADLINE_MS,
    });
    if (!outcome.ok) throw new Error(outcome.error.message);
    return outcome.value;
  }
}

/** This thread lives when it can be asked; whether the process does is known where placements are decided. */
function withLiveness(handlers: Handlers, desk: Desk): Handlers {
  return {
    ...handlers,
    healthz(input, caller, conclusion) {
      desk.askThen({ type: "alive" }, { deadlineMs: ALIVE_DEADLINE_MS, lane: "urgent" }, (outcome) => {
        if (outcome.ok) handlers.healthz(input, caller, conclusion);
        else conclusion.finish({ ok: false, refusal: SILENT_MAIN_THREAD });
      });
    },
  };
}

const SILENT_MAIN_THREAD: Refusal = refuse("unavailable", "the scheduler's main thread does not answer", {
  retry: "unchanged",
});

function materialOf({ cert, key, clientCa }: NonNullable<Admission["tls"]>): TlsMaterial {
  return { cert: Buffer.from(cert), key: Buffer.from(key), clientCa: clientCa === null ? null : Buffer.from(clientCa) };
}
