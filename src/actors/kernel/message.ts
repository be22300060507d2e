/** Plain data that survives structured clone, immutable once sent. */
export interface Message {
  readonly type: string;
}

/** `urgent` passes before `normal`, so that closing work is not stuck behind a burst of new work. */
export type Lane = "urgent" | "normal";
