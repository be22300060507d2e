/** What the deciding functions of this actor share: the two cores and the configuration, and the rules of a moment. */
import type { Rules } from "./candidates.ts";
import type { PlacementConfig } from "./config.ts";
import type { CandidateIndex } from "./index/candidate-index.ts";
import type { Slots } from "./index/slots.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { NameMint } from "./ledger/names.ts";
import type { Reservation } from "./ledger/reservation.ts";
import type { Fleet } from "./nodes/fleet.ts";
import type { Node } from "./nodes/node.ts";

export interface Core {
  readonly config: PlacementConfig;
  /** Whether the configuration sets any limit. */
  readonly limited: boolean;
  readonly fleet: Fleet;
  readonly ledger: Ledger;
  /** Which nodes changed, for the index. */
  readonly slots: Slots;
  readonly index: CandidateIndex;
  /** Nodes that creations wait for after a start, until `guardEndMs` at most. */
  readonly guarded: Set<string>;
  guardEndMs: number;
  newestRules: Rules | null;
  readonly mint: NameMint;
  /** Requests that chose a node, hintless ones too: the turn of each. */
  turns: number;
  /** When what time alone changes was last looked for on every node. */
  lastSweepMs: number;
}

export function rulesAt(core: Core, nowMs: number): Rules {
  const { config, limited, newestRules } = core;
  // Decisions come by the hundred in a millisecond.
  if (newestRules?.nowMs === nowMs) return newestRules;
  const rules = { config, nowMs, limited, hearing: { nowMs, reportTtlMs: config.reportTtlMs } };
  core.newestRules = rules;
  return rules;
}

/** The node of a reservation; undefined once it has been dropped, even if one of that name came again. */
export function nodeOf(core: Core, reservation: Reservation): Node | undefined {
  const node = core.fleet.nodes.get(reservation.terms.nodeId);
  return node?.account === reservation.account ? node : undefined;
}
