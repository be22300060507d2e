/** Bounds of the wait before a failed actor's next life. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** 1 s: long enough not to spin on an instant crash; 60 s: an operator who mends the cause sees it work soon after. */
export const DEFAULT_BACKOFF: Backoff = { firstMs: 1_000, longestMs: 60_000 };

/** The wait after the `failures`-th failure in a row (1 or more): doubled each time, up to the longest. */
export function backoffMs(failures: number, { firstMs, longestMs }: Backoff = DEFAULT_BACKOFF): number {
  // Beyond 2^30 the product would only lose precision; the bound is reached long before.
  return Math.min(longestMs, firstMs * 2 ** Math.min(Math.max(failures, 1) - 1, 30));
}
