/** What the main thread calls in a worker thread that hosts actors, and what that reports. All of it is plain data. */
import type { MessagePort } from "node:worker_threads";
import type { LogLevel } from "./actor.ts";
import type { Addressee } from "./far-protocol.ts";
import type { OnFailure } from "./host.ts";
import type { Lane, Message } from "./message.ts";

/** What a worker sends on its own account, for one of its actors. */
export type ThreadReport =
  | { readonly kind: "answer"; readonly question: number; readonly value: unknown }
  | { readonly kind: "post"; readonly actor: string; readonly message: Message }
  | { readonly kind: "drain_failed"; readonly actor: string; readonly reason: string }
  /** All that the thread had reported before is known where this is. */
  | { readonly kind: "stopped"; readonly stop: number }
  | { readonly kind: "self"; readonly actor: string; readonly message: Message; readonly lane: Lane }
  | {
      readonly kind: "log";
      readonly actor: string;
      readonly level: LogLevel;
      readonly fields: object;
      readonly text: string;
    };

export type ThreadSink = (report: ThreadReport) => void;

export interface StartRequest {
  readonly actor: string;
  readonly module: string;
  readonly init: unknown;
  readonly inherited: unknown;
  readonly onFailure: OnFailure;
  /** The actors of the main thread that it may speak to, and the way there; null for none. */
  readonly references: { readonly addressees: readonly Addressee[]; readonly port: MessagePort } | null;
}

/** What became of a posted message that was not handled. */
export interface PostFailure {
  readonly code: "failed" | "actor_dead";
  readonly reason: string;
}

/** The call surface of a thread. Failures are returned as text: a thrown error would lose what it was on the way. */
export interface ThreadSurface {
  connect(sink: ThreadSink): void;
  /** Null, or why the actor could not be made. */
  start(request: StartRequest): Promise<string | null>;
  /** Null when handled. `question` is null for a message that was told. */
  post(actor: string, message: Message, question: number | null): PostFailure | null;
  handover(actor: string): unknown;
  /** Reports `stopped` with the number of this stop: answers are reports too, and the call's own end may overtake them. */
  stop(actor: string, nth: number): void;
  /** Stops every actor and lets the thread end. */
  end(): void;
}
