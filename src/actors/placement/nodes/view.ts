/** Nodes as they are shown. */
import { CONDITIONS, type NodeView } from "../../../messages/nodes.ts";
import {
  HINTLESS,
  misfit,
  projectedCpu,
  projectedMemory,
  promisableCpu,
  promisableMemory,
  whyNot,
} from "../candidates.ts";
import { type Core, rulesAt } from "../core.ts";
import type { Instant } from "../instant.ts";
import { accountingOf } from "../ledger/identity.ts";
import { heldByPaused } from "../no-nodes.ts";
import { isDemoted, pressureOf, startingOf } from "../ranking/least-loaded.ts";
import { statusOf } from "./lifecycle.ts";
import { leadingPart, type Node } from "./node.ts";

const NOTHING_ASKED = { cpuMillicores: null, memoryBytes: null } as const;

/** An unregistered node is shown only while something there is charged. */
export function isShown(node: Node): boolean {
  return node.unregistered === null || node.account.pending.size + node.account.confirmed.size > 0;
}

/** Those that are shown, by id. */
export function nodeViewsOf(core: Core, now: Instant): NodeView[] {
  return [...core.fleet.nodes.values()]
    .filter(isShown)
    .sort((left, right) => (left.nodeId < right.nodeId ? -1 : 1))
    .map((node) => nodeViewOf(core, node, now));
}

export function nodeViewOf(core: Core, node: Node, now: Instant): NodeView {
  const { config } = core;
  const rules = rulesAt(core, now.nowMs);
  const toWall = (atMs: number): number => Math.round(now.wallMs + atMs - now.nowMs);
  const { figures } = node;
  const { inFlight } = node.account;
  const cpu = { projected: projectedCpu(node, config), promisable: promisableCpu(node, config) };
  const memory = { projected: projectedMemory(node, config), promisable: promisableMemory(node, config) };
  const seenMs = Math.max(node.runtime.lastArrivalMs ?? -Infinity, node.daemon.lastArrivalMs ?? -Infinity);
  const blocked = whyNot(node, HINTLESS, rules);
  return {
    nodeId: node.nodeId,
    endpoint: node.endpoint,
    clusterId: node.clusterId,
    version: node.version,
    serviceInstanceId: leadingPart(node).serviceInstanceId,
    status: statusOf(node, rules.hearing),
    cordoned: node.cordon !== null,
    cordonReason: node.cordon?.reason ?? null,
    conditions: CONDITIONS.flatMap((type) => {
      const active = node.conditions.get(type);
      return active === undefined ? [] : [{ type, sinceUnixMs: toWall(active.sinceMs) }];
    }),
    schedulable: blocked === null,
    reasons: reasonsOf(core, node, blocked),
    snapshot: node.snapshot,
    utilization: node.utilization,
    capacity: { cpuMillicores: figures.cpuCapacityMillicores, memoryBytes: figures.memoryCapacityBytes },
    projected: {
      cpuMillicores: cpu.projected,
      memoryBytes: memory.projected,
      starting: startingOf(node),
      pressure: pressureOf(node, NOTHING_ASKED, config),
    },
    available: { cpuMillicores: available(cpu), memoryBytes: available(memory) },
    overLimit: isOver(cpu) || isOver(memory),
    reservations: { pending: inFlight.pending, confirmed: inFlight.confirmed },
    inFlight: {
      cpuMillicores: inFlight.cpuMillicores,
      memoryBytes: inFlight.memoryBytes,
      count: inFlight.chargedPending + inFlight.chargedConfirmed,
    },
    accounting: accountingOf(node),
    demoted: isDemoted(node, config, now.nowMs),
    generation: node.generation,
    lastSeenUnixMs: seenMs === -Infinity ? null : toWall(seenMs),
  };
}

interface Promised {
  readonly projected: number;
  readonly promisable: number | null;
}

function available({ projected, promisable }: Promised): number | null {
  return promisable === null ? null : Math.max(0, promisable - projected);
}

function isOver({ projected, promisable }: Promised): boolean {
  return promisable !== null && projected > promisable;
}

/** The rule that keeps every request out, then what else an operator would want to know. */
function reasonsOf(core: Core, node: Node, blocked: string | null): string[] {
  const reasons = new Set<string>();
  if (node.unregistered !== null) reasons.add("unregistered");
  else if (blocked !== null) reasons.add(blocked);
  if (node.cordon !== null) reasons.add(node.cordon.reason === null ? "cordoned" : `cordoned: ${node.cordon.reason}`);
  if (node.cordon?.reason != null) reasons.delete("cordoned");
  for (const condition of node.conditions.keys()) reasons.add(condition);
  const full = misfit(node, NOTHING_ASKED, core.config);
  if (full !== null) reasons.add(full);
  for (const words of full === null ? [] : heldByPaused([node], full)) reasons.add(words);
  return [...reasons];
}
