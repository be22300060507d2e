/**
 * Rounds of CPU templates, per cluster. Pure.
 *
 * ```
 *  collecting ── every node of the cluster has sent one ──▶ answering: each node's next heartbeat, once
 *      ▲                                                         │
 *      └──────── a node joins, leaves or changes its own ────────┘
 * ```
 * A node sends its template once per process. One that sends the same again, after heartbeats without it, has started
 * anew and has not heard the answer: it is due one more.
 */
import type { TemplateHeartbeat } from "./client.ts";
import { type CpuTemplate, formatTemplate, intersect, parseTemplate } from "./template.ts";

export interface TemplateAnswer {
  /** Empty: nothing to say, in this heartbeat. */
  readonly cpuConfigJson: string;
  /** Nodes whose template cannot be read, when that is found out; each once, until it sends another. */
  readonly unreadable: readonly string[];
}

interface Member {
  /** As sent; null: not yet. */
  config: string | null;
  /** Whether the previous heartbeat carried it. */
  sentLast: boolean;
  due: boolean;
  complainedOf: boolean;
}

interface Cluster {
  readonly members: Map<string, Member>;
  /** Of the present round, once somebody was due it; empty when there is none. */
  intersection: string | null;
}

const NOTHING: TemplateAnswer = { cpuConfigJson: "", unreadable: [] };

export class TemplateRounds {
  readonly #clusters = new Map<string, Cluster>();
  readonly #clusterOf = new Map<string, string>();

  onHeartbeat({ nodeId, clusterId, cpuConfigJson }: TemplateHeartbeat): TemplateAnswer {
    const elsewhere = this.#clusterOf.get(nodeId);
    if (elsewhere !== undefined && elsewhere !== clusterId) this.onNodeGone(nodeId);
    const cluster = this.#clusterFor(clusterId);
    const known = cluster.members.get(nodeId);
    const member = known ?? { config: null, sentLast: false, due: false, complainedOf: false };
    const sent = cpuConfigJson !== "";
    const changed = sent && cpuConfigJson !== member.config;
    const startedAnew = sent && !member.sentLast;
    member.sentLast = sent;
    if (changed) {
      member.config = cpuConfigJson;
      member.complainedOf = false;
    }
    if (known === undefined) {
      cluster.members.set(nodeId, member);
      this.#clusterOf.set(nodeId, clusterId);
    }
    if (changed || known === undefined) {
      beginRound(cluster);
      return NOTHING;
    }
    if (startedAnew) {
      member.due = isComplete(cluster);
      return NOTHING;
    }
    if (!member.due) return NOTHING;
    member.due = false;
    return answerOf(cluster);
  }

  onNodeGone(nodeId: string): void {
    const clusterId = this.#clusterOf.get(nodeId);
    const cluster = this.#clusters.get(clusterId ?? "");
    if (clusterId === undefined || cluster === undefined) return;
    this.#clusterOf.delete(nodeId);
    cluster.members.delete(nodeId);
    if (cluster.members.size === 0) this.#clusters.delete(clusterId);
    else beginRound(cluster);
  }

  #clusterFor(clusterId: string): Cluster {
    const known = this.#clusters.get(clusterId);
    if (known !== undefined) return known;
    const cluster: Cluster = { members: new Map(), intersection: null };
    this.#clusters.set(clusterId, cluster);
    return cluster;
  }
}

function isComplete({ members }: Cluster): boolean {
  return [...members.values()].every(({ config }) => config !== null);
}

function beginRound(cluster: Cluster): void {
  const due = isComplete(cluster);
  cluster.intersection = null;
  for (const member of cluster.members.values()) member.due = due;
}

/** Worked out when the first node is due it, so that a fleet that starts up does not pay for each node that joins. */
function answerOf(cluster: Cluster): TemplateAnswer {
  if (cluster.intersection !== null) return { cpuConfigJson: cluster.intersection, unreadable: [] };
  const templates = new Map<string, CpuTemplate | null>();
  const unreadable: string[] = [];
  for (const [nodeId, member] of cluster.members) {
    if (member.config === null) continue;
    // Hosts of one kind send the same text.
    if (!templates.has(member.config)) templates.set(member.config, parseTemplate(member.config));
    if (templates.get(member.config) !== null || member.complainedOf) continue;
    member.complainedOf = true;
    unreadable.push(nodeId);
  }
  const readable = [...templates.values()].filter((template) => template !== null);
  const [first, ...others] = readable;
  const agreed = first !== undefined && readable.length === templates.size;
  cluster.intersection = agreed ? formatTemplate(others.reduce(intersect, first)) : "";
  return { cpuConfigJson: cluster.intersection, unreadable };
}
