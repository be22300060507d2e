/** What API threads ask of the main thread that is no placement: who is let in, metrics, where to listen, whether it lives. */
import { describeThrown } from "../../../messages/thrown.ts";
import type { Actor, ActorContext, Answer, LocalActor } from "../../kernel/actor.ts";
import type { Access } from "../http-server.ts";
import type { Metrics } from "../metrics.ts";
import { TokenGate, type Tokens } from "../tokens.ts";

/** Where every thread listens. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export type DeskMessage =
  | { readonly type: "opening" }
  | { readonly type: "admission" }
  | { readonly type: "metrics"; readonly byNode: boolean }
  | { readonly type: "alive" }
  /** From the main thread: what threads that begin a next life are to do. Null: nothing, until they are told. */
  | { readonly type: "address"; readonly address: ListenAddress | null };

/** Who is let in now. Buffers arrive as plain byte arrays. */
export interface Admission {
  /** Null: everybody. */
  readonly tokens: Tokens | null;
  /** In PEM; null: plain text. */
  readonly tls: { readonly cert: Uint8Array; readonly key: Uint8Array; readonly clientCa: Uint8Array | null } | null;
}

export type DeskReplies = {
  opening: { readonly admission: Admission; readonly address: ListenAddress | null };
  admission: Admission;
  metrics: { readonly text: string };
  alive: Readonly<Record<string, never>>;
};

export interface DeskOptions {
  readonly access: Access;
  /** Null: none are kept, and nobody asks for them. */
  readonly metrics: Metrics | null;
}

export function deskActor({ access, metrics }: DeskOptions): LocalActor<DeskMessage> {
  return {
    create({ log }: ActorContext): Actor<DeskMessage> {
      let address: ListenAddress | null = null;
      return {
        receive(message: DeskMessage, answer: Answer) {
          switch (message.type) {
            case "opening":
              answer({ admission: admissionOf(access), address } satisfies DeskReplies["opening"]);
              return;
            case "admission":
              answer(admissionOf(access));
              return;
            case "metrics":
              // A question that fails is left to its deadline.
              metrics?.text({ byNode: message.byNode }).then(
                (text) => answer({ text } satisfies DeskReplies["metrics"]),
                (thrown: unknown) => log.error({ reason: describeThrown(thrown) }, "the metrics could not be read"),
              );
              return;
            case "alive":
              answer({});
              return;
            case "address":
              address = message.address;
              return;
            default:
              message satisfies never;
          }
        },
      };
    },
  };
}

function admissionOf({ gate, tls }: Access): Admission {
  return { tokens: gate instanceof TokenGate ? gate.tokens : null, tls: tls?.material ?? null };
}
