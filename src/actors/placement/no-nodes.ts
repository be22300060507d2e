/** Why no node could take a request, in the words of an operator. Worked out only when there is no candidate. */
import { type Refusal, refuse } from "../../messages/errors.ts";
import { type Demand, type Reason, type Rules, whyNot } from "./candidates.ts";
import type { Node } from "./nodes/node.ts";

const GIB = 2 ** 30;

/** Counts each node once, under the first rule that drops it, and says what paused sandboxes hold of what is lacking. */
export function refuseForLackOfNodes(nodes: Iterable<Node>, demand: Demand, rules: Rules): Refusal {
  const dropped = new Map<Reason, Node[]>();
  let considered = 0;
  for (const node of nodes) {
    const reason = whyNot(node, demand, rules);
    if (reason === null) continue;
    considered += 1;
    const alike = dropped.get(reason);
    if (alike === undefined) dropped.set(reason, [node]);
    else alike.push(node);
  }
  const counts = [...dropped]
    .map(([reason, alike]) => [reason, alike.length] as const)
    .sort(([left, many], [right, more]) => more - many || (left < right ? -1 : 1));
  const held = counts.flatMap(([reason]) => heldByPaused(dropped.get(reason) ?? [], reason));
  const words = counts.map(([reason, count]) => `${count} ${reason}`).join(", ");
  const why = considered === 0 ? "no nodes are known" : [words, ...held].join("; ");
  return refuse("no_nodes", `no nodes available: ${why}`, {
    reasons: Object.fromEntries(counts),
    nodes: considered,
    ...(held.length > 0 ? { paused: held } : {}),
  });
}

/** What paused sandboxes hold of the lacking dimension, as `insufficient cpu: 58 of 64 paused`; empty when nothing. */
export function heldByPaused(nodes: readonly Node[], reason: Reason): string[] {
  const ofCpu = reason.startsWith("insufficient cpu");
  if (!ofCpu && !reason.startsWith("insufficient memory")) return [];
  let paused = 0;
  let capacity = 0;
  for (const { figures } of nodes) {
    paused += ofCpu ? figures.pausedCpuMillicores / 1000 : figures.pausedMemoryBytes / GIB;
    capacity += ofCpu ? (figures.cpuCapacityMillicores ?? 0) / 1000 : (figures.memoryCapacityBytes ?? 0) / GIB;
  }
  return paused === 0 ? [] : [`${reason}: ${rounded(paused)} of ${rounded(capacity)}${ofCpu ? "" : " GiB"} paused`];
}

/** To a thousandth: a millicore, or about a MiB. */
function rounded(amount: number): number {
  return Math.round(amount * 1000) / 1000;
}
