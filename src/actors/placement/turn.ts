/**
 * The handling of one message, as those see it who decide and those who act on it: what may be done in it, and what came
 * of it. What is durable of that stands in `events.ts`.
 */
import type { Change, PlacementEvent } from "./events.ts";
import type { Instant } from "./instant.ts";

/** What is worth a counter or a log line but is not durable. */
export type Notice =
  | { readonly type: "report_ignored"; readonly nodeId: string; readonly part: "runtime" | "daemon" | "events" }
  | { readonly type: "sign_of_life"; readonly nodeId: string; readonly part: "runtime" | "daemon" }
  | { readonly type: "identity_conflict"; readonly nodeId: string; readonly part: "runtime" | "daemon" }
  | { readonly type: "epoch_opened"; readonly nodeId: string; readonly why: "first" | "instance" | "counters" }
  | { readonly type: "late_confirmation"; readonly nodeId: string; readonly forced: boolean }
  | { readonly type: "orphaned_confirmation"; readonly nodeId: string }
  | { readonly type: "node_demoted"; readonly nodeId: string }
  | { readonly type: "stalled"; readonly silentMs: number }
  /** A handler threw: its caller is answered `internal`, what it had changed before stands in the events. */
  | { readonly type: "handler_failed"; readonly message: string };

/** What the directory of assignments needs to hear; in order. */
export type RouteChange =
  | {
      readonly type: "assigned";
      readonly sandboxId: string;
      readonly nodeId: string;
      readonly source: "confirm" | "create" | "record";
    }
  | { readonly type: "roster"; readonly nodeId: string; readonly sandboxIds: readonly string[] }
  | { readonly type: "deleted"; readonly sandboxId: string }
  | { readonly type: "node_gone"; readonly nodeId: string };

/** What stands in the log of it; rosters are left to the directory, which logs what they change. */
export type JournaledRoute = Exclude<RouteChange, { readonly type: "roster" }>;

/** What a handler did, beside its reply. Events are to be committed before the reply leaves. */
export interface TurnOutcome<Answer> {
  readonly reply: Answer;
  readonly events: readonly PlacementEvent[];
  readonly notices: readonly Notice[];
  readonly routes: readonly RouteChange[];
}

/** What a deciding function may do: read the time, make a change (applied at once), and say things. */
export interface Turn {
  readonly now: Instant;
  /** Of the message in the mailbox; every reservation made before this message has a lower one. */
  readonly position: number;
  emit(change: Change): void;
  notice(notice: Notice): void;
  route(route: RouteChange): void;
}
