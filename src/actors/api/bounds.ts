/** What a connection to the scheduler may cost it, over HTTP and over gRPC. */
export interface Bounds {
  /** Connections at a time, of each server; further ones are closed as they come. */
  readonly connectionsMax: number;
  readonly headBytesMax: number;
  /** Whoever takes longer for the head of a request sends a byte now and then, to hold the connection. */
  readonly headWithinMs: number;
  /** A whole request, its body included. */
  readonly requestWithinMs: number;
  /** How often connections over these two times, and stalled ones, are looked for: they are dropped as much later at most. */
  readonly checkedEveryMs: number;
  /** Between two requests. */
  readonly idleMs: number;
  /** Nothing sent or taken in the middle of an answer: its reader is gone, or wants to hold it. */
  readonly stalledMs: number;
}

export const usualBounds: Bounds = {
  connectionsMax: 10_000,
  // Node's own default, said here so that it stays: a bearer token and tracing headers are a tenth of it.
  headBytesMax: 16 * 2 ** 10,
  // One packet or a few.
  headWithinMs: 10_000,
  // At most 8 MiB: 300 kB/s, a slow link.
  requestWithinMs: 30_000,
  checkedEveryMs: 2_000,
  // Longer than the usual 60 s of load balancers, so that they close idle connections before we do.
  idleMs: 75_000,
  stalledMs: 90_000,
};

/** A TLS handshake is two round trips. */
export const HANDSHAKE_WITHIN_MS = 10_000;
