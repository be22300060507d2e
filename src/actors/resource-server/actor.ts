import type { Published } from "../../messages/resource.ts";
import { describeThrown } from "../../messages/thrown.ts";
import type { Actor, ActorContext, LocalActor } from "../kernel/actor.ts";
import { createResourceHttpServer } from "./http.ts";
import { claimSocket } from "./socket-path.ts";

/** What the socket server understands: new states from the cache, and the program's orders. */
export type ResourceServerMessage =
  | Published
  /** Asked: answered when the socket accepts, or with the line that says why it cannot. */
  | { readonly type: "listen" }
  /** Asked: answered when the socket is gone and no connection is left. */
  | { readonly type: "close" };

export type ResourceServerReplies = {
  /** Null when the socket accepts. */
  listen: string | null;
  close: null;
};

export interface ResourceServerOptions {
  readonly socketPath: string;
  /** Permission bits. */
  readonly socketMode: number;
  /** Name or number of the group; null leaves the process's own. */
  readonly socketGroup: string | null;
  readonly intervalMs: number;
  readonly connectionsMax: number;
}

/** Owns the Unix socket and the newest answer; that is all that a request reads. */
export function resourceServer(options: ResourceServerOptions): LocalActor<ResourceServerMessage> {
  const { socketPath: path, socketMode: mode, socketGroup: group, intervalMs, connectionsMax } = options;
  return {
    create: ({ clock }: ActorContext): Actor<ResourceServerMessage> => {
      let current: Published | null = null;
      let claimed: { release(): void } | null = null;
      const server = createResourceHttpServer({ current: () => current, intervalMs, connectionsMax, clock });

      function onListen(answer: (refusal: string | null) => void): void {
        claimSocket(server, { path, mode, group }).then(
          (socket) => {
            claimed = socket;
            answer(null);
          },
          (thrown: unknown) => answer(describeThrown(thrown)),
        );
      }

      /** Removes the name first: from then on nobody new comes, and a successor may start. */
      function close(closed: () => void): void {
        claimed?.release();
        claimed = null;
        if (!server.listening) return closed();
        server.close(() => closed());
        server.closeAllConnections();
      }

      return {
        receive(message, answer) {
          switch (message.type) {
            case "published":
              current = message;
              return;
            case "listen":
              return onListen(answer);
            case "close":
              return close(() => answer(null));
            default:
              return message satisfies never;
          }
        },
        stopped: () => close(() => undefined),
      };
    },
  };
}
