/** One moment on both clocks. Decisions use the monotonic one; the wall clock is for views and for leases over a restart. */
export interface Instant {
  readonly nowMs: number;
  readonly wallMs: number;
}
