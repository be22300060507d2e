/** All that others use of the directory actor. */
import type { Reference } from "../kernel/reference.ts";
import type { RouteChange } from "../placement/client.ts";
import type { AssignmentChange } from "./assignments.ts";

export type { AssignmentChange } from "./assignments.ts";
export { type AssignmentEntry, foldAssignments } from "./fold-assignments.ts";

/** Placement → directory: what was decided about where sandboxes are, in order, once it is committed. */
export interface Routes {
  readonly type: "routes";
  readonly changes: readonly RouteChange[];
}

export interface Lookup {
  readonly type: "lookup";
  readonly sandboxId: string;
}

/** Placement → directory, at the start: what the log knows of assignments. */
export interface Restore {
  readonly type: "restore";
  readonly changes: readonly AssignmentChange[];
}

export type DirectoryMessage = Routes | Lookup | Restore;

export interface LookupAnswer {
  /** Null: not known, or not for longer than `binding_ttl`. */
  readonly nodeId: string | null;
}

export type DirectoryReplies = { lookup: LookupAnswer };

/** What other threads are given. */
export type DirectoryReference = Reference<DirectoryMessage, DirectoryReplies>;

export type Directory = Pick<DirectoryReference, "tell" | "ask">;

/** Notifications for logs and metrics. */
export interface DirectoryEvents {
  /** A sandbox that two nodes list at a time. */
  duplicate: (found: { readonly sandboxId: string }) => void;
}
