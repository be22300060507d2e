/** All that others use of the directory actor. */
import type { Reference } from "../kernel/reference.ts";
import type { RouteChange } from "../placement/client.ts";

/** Placement → directory: what was decided about where sandboxes are, in order, once it is committed. */
export interface Routes {
  readonly type: "routes";
  readonly changes: readonly RouteChange[];
}

export interface Lookup {
  readonly type: "lookup";
  readonly sandboxId: string;
}

export type DirectoryMessage = Routes | Lookup;

export interface LookupAnswer {
  /** Null: not known, or not for longer than `binding_ttl`. */
  readonly nodeId: string | null;
}

export type DirectoryReplies = { lookup: LookupAnswer };

export type Directory = Pick<Reference<DirectoryMessage, DirectoryReplies>, "tell" | "ask">;

/** Notifications for logs and metrics. */
export interface DirectoryEvents {
  /** A sandbox that two nodes list at a time. */
  duplicate: (found: { readonly sandboxId: string }) => void;
}
