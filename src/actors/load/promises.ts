/** What clients were told, against what a scheduler says that was killed meanwhile. */
import type { Promised } from "./messages.ts";

export interface KnownReservation {
  readonly nodeId: string;
  readonly state: string;
}

/**
 * Which states a client's last word leaves. A call may be under way, so a reservation may have gone on from what its
 * client knows; it can never have gone back.
 */
const LEAVES: Readonly<Record<Promised["end"], readonly string[]>> = {
  granted: ["pending", "confirmed", "settled", "cancelled", "expired"],
  confirmed: ["confirmed", "settled"],
  cancelled: ["cancelled"],
  abandoned: ["pending", "expired"],
  expired: ["expired"],
  unclear: ["pending", "confirmed", "settled", "cancelled", "expired"],
};

/** `known` by public id. Each that does not hold, in words. */
export function brokenPromises(promised: Iterable<Promised>, known: ReadonlyMap<string, KnownReservation>): string[] {
  const broken: string[] = [];
  for (const { grant, end } of promised) {
    const state = known.get(grant.id)?.state ?? "unknown";
    if (!LEAVES[end].includes(state)) broken.push(`${grant.id} on ${grant.nodeId} was told ${end}, and is ${state}`);
  }
  return broken;
}

/** Nodes with more live or settled reservations than they have room for; nothing is deleted in a load run. */
export function doubleBooked(
  known: Iterable<KnownReservation>,
  { roomPerNode }: { readonly roomPerNode: number },
): string[] {
  const counts = new Map<string, number>();
  for (const { nodeId, state } of known) {
    if (["pending", "confirmed", "settled"].includes(state)) counts.set(nodeId, (counts.get(nodeId) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > roomPerNode)
    .map(([nodeId, count]) => `${nodeId} has ${count} reservations and room for ${roomPerNode}`);
}
