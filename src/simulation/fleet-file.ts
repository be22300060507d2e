/**
 * A fleet as a file describes it:
 *
 *     {"nodes": [{"node_id": "large", "cpu": 192, "memory": "384GiB"}, {"node_id": "small", "count": 8, …}]}
 *
 * A row with a `count` stands for that many equal nodes, named `small-1` and so on.
 */
import { z } from "zod";
import type { Amounts } from "../actors/load/played-node.ts";
import { byteSize, countBetween, cpuAmount } from "../messages/amounts.ts";
import { nodeIdSchema } from "../messages/settings.ts";

/** A virtual fleet larger than this would no longer fit the memory of a small machine. */
const NODES_MAX = 100_000;

export interface FleetNode {
  readonly nodeId: string;
  readonly capacity: Amounts;
}

export type FleetReading =
  | { readonly ok: true; readonly nodes: readonly FleetNode[] }
  /** One line that names the field and says how to mend it. */
  | { readonly ok: false; readonly problem: string };

const rowSchema = z.strictObject(
  { node_id: nodeIdSchema, count: countBetween(1, NODES_MAX).optional(), cpu: cpuAmount, memory: byteSize() },
  { error: 'is not a node such as {"node_id": "a", "cpu": 16, "memory": "32GiB"}' },
);

const fleetSchema = z.strictObject(
  {
    nodes: z
      .array(rowSchema, { error: 'is not a list of nodes such as [{"node_id": "a", "cpu": 16, "memory": "32GiB"}]' })
      .min(1, { error: "is empty; a fleet has at least one node" }),
  },
  { error: 'is not an object such as {"nodes": […]}' },
);

/** Reads the text of a fleet file (JSON). */
export function parseFleet(text: string): FleetReading {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (thrown) {
    return { ok: false, problem: `is not JSON: ${(thrown as Error).message}` };
  }
  const parsed = fleetSchema.safeParse(content);
  if (!parsed.success) return { ok: false, problem: describeIssue(parsed.error.issues[0]) };
  const nodes = parsed.data.nodes.flatMap(expand);
  if (nodes.length > NODES_MAX) return { ok: false, problem: `nodes: ${nodes.length} nodes, at most ${NODES_MAX}` };
  const seen = new Set<string>();
  for (const { nodeId } of nodes) {
    if (seen.has(nodeId)) return { ok: false, problem: `nodes: "${nodeId}" occurs twice; give each its own node_id` };
    seen.add(nodeId);
  }
  return { ok: true, nodes };
}

function expand({ node_id: nodeId, count, cpu, memory }: z.output<typeof rowSchema>): FleetNode[] {
  const capacity = { cpuMillicores: cpu, memoryBytes: memory };
  if (count === undefined) return [{ nodeId, capacity }];
  return Array.from({ length: count }, (_, index) => ({ nodeId: `${nodeId}-${index + 1}`, capacity }));
}

function describeIssue(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined) return "is not a fleet";
  const place = issue.path.map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`)).join("");
  const field = place === "" ? "" : `${place.replace(/^\./, "")}: `;
  if (issue.code !== "unrecognized_keys") return `${field}${issue.message}`;
  const known = field === "" ? "nodes" : Object.keys(rowSchema.shape).join(", ");
  return `${field}no such field: ${issue.keys.join(", ")}; there are ${known}`;
}
