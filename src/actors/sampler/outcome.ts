/**
 * What came of asking the kernel for a value. "The kernel has none" (no such limit, no such file, nothing to compare
 * with yet) and "it could not be read or believed" are different: the first is a fact about the host, the second is
 * counted as a failure.
 */
export type Outcome<T> = Found<T> | Missing;

export interface Found<T> {
  readonly kind: "found";
  readonly value: T;
}

export interface Missing {
  readonly kind: "none" | "failed";
  /** In words, for an operator. */
  readonly why: string;
}

export const found = <T>(value: T): Found<T> => ({ kind: "found", value });
export const none = (why: string): Missing => ({ kind: "none", why });
export const failed = (why: string): Missing => ({ kind: "failed", why });

// Long enough to recognise a line, short enough that a corrupt file cannot flood a log.
const QUOTED_CHARACTERS_MAX = 80;

/** Kernel text made safe to print in a `why`: escaped, and cut where it is long. */
export function quote(text: string): string {
  return JSON.stringify(text.length > QUOTED_CHARACTERS_MAX ? `${text.slice(0, QUOTED_CHARACTERS_MAX)}…` : text);
}
