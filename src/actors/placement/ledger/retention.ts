/** How long the past is remembered: ended reservations and named sandbox ids, by age and by number. */
import type { Core } from "../core.ts";
import type { Turn } from "../turn.ts";

// The share of the maximum that is dropped beyond it at a time: taking one out of the front of a large set or map costs a
// walk over those taken out before, which this spreads over many.
const DROPPED_AT_A_TIME = 0.01;

/** How many are too many; more than needed once any are. */
function excess(size: number, max: number): number {
  return size > max ? size - max + Math.floor(max * DROPPED_AT_A_TIME) : 0;
}

/** Makes at most one event, and none when nothing is over. Live reservations are never forgotten. */
export function forgetThePast(core: Core, turn: Turn): void {
  const { ledger, config } = core;
  const oldestMs = turn.now.nowMs - config.reservationRetentionMs;
  const ids: string[] = [];
  let tooMany = excess(ledger.ended.size, config.rememberedMax);
  for (const reservation of ledger.ended) {
    if (tooMany <= 0 && (reservation.endedAtMs ?? oldestMs) > oldestMs) break;
    ids.push(reservation.terms.id);
    tooMany -= 1;
  }
  const sandboxIds: string[] = [];
  tooMany = excess(ledger.named.size, config.rememberedMax);
  for (const [sandboxId, { atMs }] of ledger.named) {
    if (tooMany <= 0 && atMs > oldestMs) break;
    sandboxIds.push(sandboxId);
    tooMany -= 1;
  }
  if (ids.length > 0 || sandboxIds.length > 0) turn.emit({ type: "forgotten", ids, sandboxIds });
}
