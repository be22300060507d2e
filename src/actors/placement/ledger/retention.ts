/** How long the past is remembered: ended reservations and named sandbox ids, by age and by number. */
import type { Core } from "../core.ts";
import type { Turn } from "../events.ts";

/** Makes at most one event, and none when nothing is over. Live reservations are never forgotten. */
export function forgetThePast(core: Core, turn: Turn): void {
  const { ledger, config } = core;
  const oldestMs = turn.now.nowMs - config.reservationRetentionMs;
  const ids: string[] = [];
  let tooMany = ledger.ended.size - config.rememberedMax;
  for (const reservation of ledger.ended) {
    if (tooMany <= 0 && (reservation.endedAtMs ?? oldestMs) > oldestMs) break;
    ids.push(reservation.terms.id);
    tooMany -= 1;
  }
  const sandboxIds: string[] = [];
  tooMany = ledger.named.size - config.rememberedMax;
  for (const [sandboxId, { atMs }] of ledger.named) {
    if (tooMany <= 0 && atMs > oldestMs) break;
    sandboxIds.push(sandboxId);
    tooMany -= 1;
  }
  if (ids.length > 0 || sandboxIds.length > 0) turn.emit({ type: "forgotten", ids, sandboxIds });
}
