/**
 * What a worker thread and the main thread say to each other so that actors in the one can ask actors in the other:
 *
 * ```
 *  worker thread                                       main thread
 *  far references ── what one turn has gathered ──▶ served references ──▶ mailboxes
 *                 ◀── what was settled together ───
 * ```
 *
 * A crossing costs the same for one message as for fifty, so each side posts a batch. Everything that is posted comes
 * back exactly once, which is how the worker knows how much is under way.
 */
import type { Lane, Message } from "./message.ts";
import type { Outcome } from "./outcome.ts";

/** Tuples, because structured clone writes the names of an object's fields anew for each object. */
export type Posted = readonly [
  number: number,
  /** The name under which the actor's life was given the reference. */
  to: string,
  message: Message,
  lane: Lane,
  /** Null for a message that is told. */
  deadlineMs: number | null,
];

/** What the worker has refused on its own, since it last said so. */
export type Refused = readonly [to: string, type: Message["type"], count: number];

/** What the worker posts: one batch, or what there was no room for. */
export type FromWorker = { readonly posted: readonly Posted[] } | { readonly refused: readonly Refused[] };

/** An actor, as the worker is told of it. */
export interface Addressee {
  /** The name under which the actor's life was given the reference. */
  readonly name: string;
  /** Messages of one lane that may be under way to it; more are refused as by a full mailbox. */
  readonly underWayMax: number;
}

/** An answer, or why there will be none; for a message that was told, whether it was queued. */
export type Settled = readonly [number: number, outcome: Outcome<unknown>];
