/** What the clients of a load run were told, request by request. Plain data, as it crosses from the worker threads. */

/** A reservation as the answer of a schedule showed it. */
export interface Grant {
  readonly token: string;
  readonly id: string;
  readonly nodeId: string;
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  /** Wall times of this machine between which its lease ends, unless something else ends it before. */
  readonly leaseEndsAtWallMsLeast: number;
  readonly leaseEndsAtWallMsMost: number;
}

/**
 * How the client left it. `expired` is a late confirm that no longer fitted; `unclear` a closing call that never had a
 * clear answer.
 */
export type GrantEnd = "confirmed" | "cancelled" | "abandoned" | "expired" | "unclear";

export type ClientRecord =
  /** A clear no, by its code, such as `no_nodes`. */
  | { readonly number: number; readonly outcome: "refused"; readonly code: string }
  /** No clear answer, however often it was asked: nobody can say what the scheduler holds. */
  | { readonly number: number; readonly outcome: "unclear"; readonly why: string }
  | {
      readonly number: number;
      readonly outcome: "granted";
      readonly grant: Grant;
      /** What the repeat of the same request id was granted; null when none was sent, or it was refused. */
      readonly repeat: Grant | null;
      readonly end: GrantEnd;
      /** What was unclear or unexpected on the way; null when nothing was. */
      readonly why: string | null;
    };

export type GrantedRecord = Extract<ClientRecord, { readonly outcome: "granted" }>;

export const TIMED_CALLS = ["schedule", "confirm", "cancel"] as const;
export type TimedCall = (typeof TIMED_CALLS)[number];

/** Durations in milliseconds, of every call that was answered. */
export type Durations = Readonly<Record<TimedCall, readonly number[]>>;

export function isGranted(record: ClientRecord): record is GrantedRecord {
  return record.outcome === "granted";
}
