/** What a connection to the scheduler may cost it, over HTTP and over gRPC. */

/** Node's own default, said here so that it stays: a bearer token and tracing headers are a tenth of it. */
export const HEAD_BYTES_MAX = 16 * 2 ** 10;

/** A head is one packet or a few: whoever takes longer sends a byte now and then, to hold the connection. */
export const HEAD_WITHIN_MS = 10_000;

/** A whole request, which is at most 8 MiB: 300 kB/s, a slow link. */
export const REQUEST_WITHIN_MS = 30_000;

/** How often Node looks for connections that are over these times; they are dropped as much later at most. */
export const TIMES_CHECKED_EVERY_MS = 2_000;

/** Longer than the usual 60 s of load balancers, so that they close idle connections before we do. */
export const IDLE_MS = 75_000;

/** Nothing sent or taken for so long, in the middle of an answer: its reader is gone, or wants to hold it. */
export const STALLED_MS = 90_000;

/** A TLS handshake is two round trips. */
export const HANDSHAKE_WITHIN_MS = 10_000;
